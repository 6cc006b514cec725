# The controller's image, where there is a container engine. `python -m e2e.images.controller ARCHIVE` makes the same
# without one, and is what the end-to-end tests run.
FROM python:3.11-slim

COPY requirements/run.txt /tmp/run.txt
RUN pip install --no-cache-dir --disable-pip-version-check --require-hashes --only-binary=:all: \
        --requirement /tmp/run.txt \
    && rm /tmp/run.txt

COPY pyproject.toml README.md /tmp/project/
COPY jobset /tmp/project/jobset
RUN pip install --no-cache-dir --disable-pip-version-check --no-deps /tmp/project \
    && rm -r /tmp/project \
    && ln -s "$(command -v jobset-controller)" /manager

# Nothing may be written in its root, so Python need not try.
ENV PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
USER 65532:65532
ENTRYPOINT ["/manager"]
