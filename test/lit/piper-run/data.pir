// What is wrong with the data is said before anything runs; no trace is written.
// REQUIRES: piper-run
// RUN: rm -f %t.trace
// RUN: not piper-run %examples/gpt.pir --level dag --data %t.missing --trace %t.trace 2>&1 | FileCheck %s --check-prefix=MISSING
// RUN: touch %t.empty
// RUN: not piper-run %examples/gpt.pir --level dag --data %t.empty --trace %t.trace 2>&1 | FileCheck %s --check-prefix=EMPTY
// RUN: echo short > %t.short
// RUN: not piper-run %examples/gpt.pir --level dag --data %t.short --trace %t.trace 2>&1 | FileCheck %s --check-prefix=SHORT
// RUN: not piper-run %examples/gpt.pir --level dag --data %S --trace %t.trace 2>&1 | FileCheck %s --check-prefix=FOLDER
// RUN: not ls %t.trace

// MISSING: error: cannot read data file '{{.*}}.missing': no such file
// MISSING: help: relative paths begin at the folder the program was started in

// EMPTY: error: data file '{{.*}}.empty' is empty
// EMPTY: help: its bytes are the tokens: give a text of many sequences

// SHORT: error: data file '{{.*}}.short' has 6 bytes, but a sequence of input 'tokens' takes 65 (its last target included)
// SHORT: help: give at least 65 bytes

// FOLDER: error: cannot read data file '{{.*}}': it is a folder
// FOLDER: help: name a file in it
