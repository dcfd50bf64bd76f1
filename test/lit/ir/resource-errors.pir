// Slips in the file metadata.
// RUN: piper-opt --split-input-file --verify-diagnostics %s

{-#
  // expected-error@+1 {{unknown key 'some' in file metadata dictionary}}
  some: {}
#-}

// -----

{-#
  // expected-error@+1 {{dialect 'nobody' is unknown}}
  dialect_resources: { nobody: { a: "0x04000000" } }
#-}

// -----

{-#
  // expected-error@+1 {{unexpected 'resource' section for dialect 'func'}}
  dialect_resources: { func: { a: "0x04000000" } }
#-}

// -----

{-#
  // expected-error@+1 {{expected hex string blob for key 'a'}}
  dialect_resources: { builtin: { a: true } }
#-}

// -----

{-#
  // expected-error@+1 {{to encode alignment in first 4 bytes}}
  dialect_resources: { builtin: { a: "0x04" } }
#-}

// -----

{-#
  // expected-error@+1 {{but got non-power-of-2 value: 3}}
  dialect_resources: { builtin: { a: "0x0300000001" } }
#-}

// -----

{-#
  // expected-error@+1 {{expected a string, a blob, true or false as the value of key 'a'}}
  external_resources: { tool: { a: 10 } }
#-}

// -----

{-#
  // expected-error@+1 {{expected '{', found '"value"'}}
  external_resources: "value"
#-}
