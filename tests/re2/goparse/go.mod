module goparse

go 1.26
