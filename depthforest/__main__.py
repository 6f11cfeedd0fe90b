"""`python -m depthforest` is the command line."""

from depthforest.cli.commands import main

main()
