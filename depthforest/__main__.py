"""`python -m depthforest` is the command line."""

from depthforest.cli import main

main()
