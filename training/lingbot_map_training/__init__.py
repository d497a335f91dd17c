"""Trains small LingBot-Map networks on generated scenes; see training/README.md."""
