"""Rerankers: which search results may a defence see?"""
