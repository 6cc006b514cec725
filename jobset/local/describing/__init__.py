"""What the server says about itself and how it shows objects: discovery, tables, OpenAPI. Pure functions over kinds."""
