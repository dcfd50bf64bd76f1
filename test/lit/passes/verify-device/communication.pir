// Everything that can be wrong between devices: each fault names both sides.
// RUN: piper-opt --pass-pipeline='builtin.module(verify-device)' --verify-diagnostics --split-input-file %s

// Two values of equal shape, sent in one order and received in the other: no size tells.
strategy.mesh @c <["pp" = 2]>
device.plan "step" on @c {
  device.comm @p2p members []
  device.program @pp0 for {pp = 0} streams ["comm"] {
    %a = device.buffer "a" : memref<1xf32> persistent
    %b = device.buffer "b" : memref<1xf32> persistent
    // expected-error@+2 {{unpaired transfer: the 1st transfer from {pp=0} to {pp=1} on p2p sends one value and receives it as another; transfers pair by position}}
    // expected-note@+1 {{sent here on {pp=0} by 'device.send' b of @pp0}}
    device.send %b to {pp = 1} over @p2p tag 1 on "comm" name "b"
    device.send %a to {pp = 1} over @p2p tag 0 on "comm" name "a"
  }
  device.program @pp1 for {pp = 1} streams ["comm"] {
    %a = device.buffer "a" : memref<1xf32> persistent
    %b = device.buffer "b" : memref<1xf32> persistent
    // expected-note@+1 {{received here on {pp=1} by 'device.recv' a of @pp1}}
    device.recv %a from {pp = 0} over @p2p tag 0 on "comm" name "a"
    device.recv %b from {pp = 0} over @p2p tag 1 on "comm" name "b"
  }
}

// -----

// A pair of different sizes.
strategy.mesh @c <["pp" = 2]>
device.plan "step" on @c {
  device.comm @p2p members []
  device.program @pp0 for {pp = 0} streams ["comm"] {
    %a = device.buffer "a" : memref<2xf32> persistent
    // expected-error@+2 {{the 1st transfer from {pp=0} to {pp=1} on p2p sends 2 x f32 and receives 1 x f32}}
    // expected-note@+1 {{sent here}}
    device.send %a to {pp = 1} over @p2p tag 0 on "comm" name "a"
  }
  device.program @pp1 for {pp = 1} streams ["comm"] {
    %a = device.buffer "a" : memref<1xf32> persistent
    // expected-note@+1 {{received here}}
    device.recv %a from {pp = 0} over @p2p tag 0 on "comm" name "a"
  }
}

// -----

// A receive of something that nobody sends.
strategy.mesh @c <["pp" = 2]>
device.plan "step" on @c {
  device.comm @p2p members []
  device.program @pp0 for {pp = 0} streams ["comm"] {
  }
  device.program @pp1 for {pp = 1} streams ["comm"] {
    %a = device.buffer "a" : memref<1xf32> persistent
    // expected-error@+2 {{the 1st receive of {pp=1} from {pp=0} on p2p is never sent}}
    // expected-note@+1 {{received here}}
    device.recv %a from {pp = 0} over @p2p tag 0 on "comm" name "a"
  }
}

// -----

// Both send first: with NCCL nobody gets to the receive.
strategy.mesh @c <["pp" = 2, "dp" = 4]>
device.plan "step" on @c {
  device.comm @p2p members []
  device.program @pp0 for {pp = 0} streams ["comm"] {
    %a = device.buffer "a" : memref<1xf32> persistent
    %b = device.buffer "b" : memref<1xf32> persistent
    // expected-error@+3 {{deadlock: devices wait for each other: {pp=0, dp=0} -> {pp=1, dp=0} -> {pp=0, dp=0}; only buffered sends would let them go on}}
    // expected-note@+2 {{this send waits on {pp=0, dp=0} by 'device.send' up of @pp0}}
    // expected-note@+4 {{for this receive, issued after what blocks its device on {pp=0, dp=0} by 'device.recv' down of @pp0}}
    device.send %a to {pp = 1} over @p2p tag 0 on "comm" name "up"


    device.recv %b from {pp = 1} over @p2p tag 1 on "comm" name "down"
  }
  device.program @pp1 for {pp = 1} streams ["comm"] {
    %a = device.buffer "a" : memref<1xf32> persistent
    %b = device.buffer "b" : memref<1xf32> persistent
    // expected-note@+2 {{this send waits on {pp=1, dp=0}}}
    // expected-note@+3 {{for this receive, issued after what blocks its device on {pp=1, dp=0}}}
    device.send %a to {pp = 0} over @p2p tag 1 on "comm" name "down"

    device.recv %b from {pp = 0} over @p2p tag 0 on "comm" name "up"
  }
}

// -----

// A circle of three that buffers do not help: everybody receives first.
strategy.mesh @c <["pp" = 3]>
device.plan "step" on @c {
  device.comm @p2p members []
  device.program @pp0 for {pp = 0} streams ["comm"] {
    %a = device.buffer "a" : memref<1xf32> persistent
    %b = device.buffer "b" : memref<1xf32> persistent
    // expected-error@+2 {{deadlock: devices wait for each other: {pp=0} -> {pp=2} -> {pp=1} -> {pp=0}}}
    // expected-note@+1 {{this receive waits on {pp=0}}}
    device.recv %a from {pp = 2} over @p2p tag 0 on "comm" name "in"
    // expected-note@+1 {{for this send, issued after what blocks its device on {pp=0}}}
    device.send %b to {pp = 1} over @p2p tag 1 on "comm" name "out"
  }
  device.program @pp1 for {pp = 1} streams ["comm"] {
    %a = device.buffer "a" : memref<1xf32> persistent
    %b = device.buffer "b" : memref<1xf32> persistent
    // expected-note@+1 {{this receive waits on {pp=1}}}
    device.recv %a from {pp = 0} over @p2p tag 1 on "comm" name "in"
    // expected-note@+1 {{for this send, issued after what blocks its device on {pp=1}}}
    device.send %b to {pp = 2} over @p2p tag 2 on "comm" name "out"
  }
  device.program @pp2 for {pp = 2} streams ["comm"] {
    %a = device.buffer "a" : memref<1xf32> persistent
    %b = device.buffer "b" : memref<1xf32> persistent
    // expected-note@+1 {{this receive waits on {pp=2}}}
    device.recv %a from {pp = 1} over @p2p tag 2 on "comm" name "in"
    // expected-note@+1 {{for this send, issued after what blocks its device on {pp=2}}}
    device.send %b to {pp = 0} over @p2p tag 0 on "comm" name "out"
  }
}

// -----

// Two communicators on two streams, in different order: NCCL promises no progress between streams.
strategy.mesh @c <["pp" = 2]>
device.plan "step" on @c {
  device.comm @one members [{pp = 0}, {pp = 1}]
  device.comm @two members [{pp = 0}, {pp = 1}]
  device.program @pp0 for {pp = 0} streams ["s", "t"] {
    %a = device.buffer "a" : memref<1xf32> persistent
    %b = device.buffer "b" : memref<1xf32> persistent
    // expected-error@+2 {{deadlock: devices wait for each other: {pp=0} -> {pp=1} -> {pp=0}}}
    // expected-note@+1 {{this all_reduce waits on {pp=0} by 'device.all_reduce' first of @pp0}}
    device.all_reduce %a to %a over @one on "s" name "first"
    // expected-note@+1 {{for this all_reduce, issued after what blocks its device}}
    device.all_reduce %b to %b over @two on "t" name "second"
  }
  device.program @pp1 for {pp = 1} streams ["s", "t"] {
    %a = device.buffer "a" : memref<1xf32> persistent
    %b = device.buffer "b" : memref<1xf32> persistent
    // expected-note@+1 {{this all_reduce waits on {pp=1} by 'device.all_reduce' second of @pp1}}
    device.all_reduce %b to %b over @two on "t" name "second"
    // expected-note@+1 {{for this all_reduce, issued after what blocks its device}}
    device.all_reduce %a to %a over @one on "s" name "first"
  }
}

// -----

// Members that do different things.
strategy.mesh @c <["pp" = 2]>
device.plan "step" on @c {
  device.comm @all members [{pp = 0}, {pp = 1}]
  device.program @pp0 for {pp = 0} streams ["s"] {
    %a = device.buffer "a" : memref<2xf32> persistent
    %b = device.buffer "b" : memref<1xf32> persistent
    // expected-error@+2 {{mismatched collective: the 1st collective on all is all_reduce on one member and reduce_scatter on another}}
    // expected-note@+1 {{all_reduce issued here on {pp=0}}}
    device.all_reduce %a to %a over @all on "s" name "sum"
  }
  device.program @pp1 for {pp = 1} streams ["s"] {
    %a = device.buffer "a" : memref<2xf32> persistent
    %b = device.buffer "b" : memref<1xf32> persistent
    // expected-note@+1 {{reduce_scatter issued here on {pp=1}}}
    device.reduce_scatter %a to %b over @all on "s" name "sum"
  }
}

// -----

// Members that bring different amounts.
strategy.mesh @c <["pp" = 2]>
device.plan "step" on @c {
  device.comm @all members [{pp = 0}, {pp = 1}]
  device.program @pp0 for {pp = 0} streams ["s"] {
    %a = device.buffer "a" : memref<2xf32> persistent
    // expected-error@+2 {{the 1st collective on all takes 2 x f32 on one member and 3 x f32 on another}}
    // expected-note@+1 {{all_reduce issued here on {pp=0}}}
    device.all_reduce %a to %a over @all on "s" name "sum"
  }
  device.program @pp1 for {pp = 1} streams ["s"] {
    %a = device.buffer "a" : memref<3xf32> persistent
    // expected-note@+1 {{all_reduce issued here on {pp=1}}}
    device.all_reduce %a to %a over @all on "s" name "sum"
  }
}

// -----

// A member that stays away.
strategy.mesh @c <["pp" = 2]>
device.plan "step" on @c {
  device.comm @all members [{pp = 0}, {pp = 1}]
  device.program @pp0 for {pp = 0} streams ["s"] {
    %a = device.buffer "a" : memref<2xf32> persistent
    // expected-error@+2 {{{pp=0} takes part in a 1st collective (all_reduce) on all, {pp=1} does not}}
    // expected-note@+1 {{all_reduce issued here on {pp=0}}}
    device.all_reduce %a to %a over @all on "s" name "sum"
  }
  device.program @pp1 for {pp = 1} streams ["s"] {
  }
}

// -----

// A collective over a group of others.
strategy.mesh @c <["pp" = 3]>
device.plan "step" on @c {
  device.comm @ends members [{pp = 0}, {pp = 2}]
  device.program @pp0 for {pp = 0} streams ["s"] {
  }
  device.program @pp1 for {pp = 1} streams ["s"] {
    %a = device.buffer "a" : memref<2xf32> persistent
    // expected-error@+2 {{bad communicator: all_reduce over ends, to which device {pp=1} does not belong}}
    // expected-note@+1 {{here}}
    device.all_reduce %a to %a over @ends on "s" name "sum"
  }
  device.program @pp2 for {pp = 2} streams ["s"] {
  }
}

// -----

// A device that sends to itself.
strategy.mesh @c <["pp" = 1, "dp" = 2]>
device.plan "step" on @c {
  device.comm @p2p members []
  device.program @pp0 for {pp = 0} streams ["s"] {
    %a = device.buffer "a" : memref<2xf32> persistent
    // expected-error@+2 {{bad communicator: device {pp=0, dp=1} would be its own peer}}
    // expected-note@+1 {{here}}
    device.send %a to {dp = 1} over @p2p tag 0 on "s" name "a"
  }
}
