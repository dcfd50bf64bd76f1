// RUN: not piper-opt --pass-pipeline='builtin.module(verify-device{memory-limit=80Gib})' %s 2>&1 | FileCheck %s --check-prefix=SIZE
// RUN: not piper-opt --pass-pipeline='builtin.module(verify-device{sends=buffer})' %s 2>&1 | FileCheck %s --check-prefix=SENDS
// SIZE: option 'memory-limit' of pass 'verify-device': "80Gib" is not a size: write a number and B, KiB, MiB or GiB
// SENDS: option 'sends' of pass 'verify-device' takes one of rendezvous, buffered, not 'buffer' (did you mean 'buffered'?)
