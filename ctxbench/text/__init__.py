"""Text in any script: normal forms, sentences, scripts and languages."""
