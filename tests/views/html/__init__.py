"""Tests of pages: markup is read strictly, drawings as XML, and some in a browser."""
