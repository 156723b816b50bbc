"""The documentation site: the pages of docs/, the examples and the reference, put together for Zensical.

`make docs` runs docs/make_site.py, which assembles all pages as Markdown under build/pages, checks every
link between them, and has Zensical turn them into build/site. The pages of docs/ are read on a forge too:
here they are taken as they are, and only links to files outside docs/ are turned to where the site has them.
"""
