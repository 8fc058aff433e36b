"""The image that Docker containers start from: any Linux with Python 3.11 or newer will do.

The toolkit itself is not in it, so that no image gets stale: the agent's code is sent to a
container when it starts. What an image should say of itself stands in its labels:

    assay-rl.sandbox   "1" on every image that is built here
    assay-rl.packages  the folder with pytest and the packages of the requirements file. Python
                       finds it by itself, through a .pth file; who starts `python3 -S` in there
                       appends it to `sys.path`
    assay-rl.version   the version of the toolkit that built it

Containers inherit the labels of their image: whoever looks for containers of its own must give
them a label that no image has.
"""

from __future__ import annotations

DEFAULT_IMAGE = "assay-rl-sandbox:latest"
DEFAULT_BASE = "python:3.12-slim"

LABEL = "assay-rl.sandbox"
PACKAGES_LABEL = "assay-rl.packages"
VERSION_LABEL = "assay-rl.version"

PACKAGES = "/opt/packages"
"""What `assay-rl.packages` says in images that are built here."""
