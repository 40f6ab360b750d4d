"""Attributors: which texts taught this answer?"""
