//! The .pplan schema: reader, writer, validator and deadlock/race verifier, source table. Knows nobody.
