"""Base parameters: which dynamic parameters the equations of motion know, and in which combinations."""
