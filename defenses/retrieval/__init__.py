"""Rerankers and filters: which search results may a defence see?"""
