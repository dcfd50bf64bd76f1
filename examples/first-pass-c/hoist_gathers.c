// hoist-gathers: every all-gather is issued as soon as its shard is there. Build as count_gathers.c.
#define PIPER_PLUGIN
#include "piper.h"

typedef struct Hoist {
  PiperPass *pass;
  int64_t most; // How many are hoisted at most; -1 for all.
  unsigned done;
} Hoist;

// Where the shard comes from: behind the operation that makes it, or at the start of the block whose argument it is.
static PiperPlace behind(PiperModule *module, PiperValue shard) {
  const PiperOp maker = piper_value_op(module, shard);
  return maker.bits != 0 ? piper_after(maker) : piper_at_start(piper_value_block(module, shard));
}

static uint32_t hoist(void *user, PiperModule *module, PiperOp op) {
  Hoist *work = user;
  if (!piper_str_is(piper_op_name(module, op), "dag.all_gather")) return PIPER_WALK_ON;
  if (work->most >= 0 && work->done >= (uint64_t)work->most) return PIPER_WALK_STOP;
  const PiperAttr none = {0};
  piper_op_set_attr(module, op, piper_str("after"), none);
  piper_op_move(module, op, behind(module, piper_op_operand(module, op, 0)));
  work->done++;
  return PIPER_WALK_ON;
}

static PiperStatus run(void *user, PiperPass *pass) {
  (void)user;
  Hoist work = {0};
  work.pass = pass;
  if (!piper_str_int(piper_pass_option(pass, piper_str("most")), &work.most) || work.most < -1) {
    return piper_pass_report(pass, PIPER_ERROR, piper_op_loc(piper_pass_module(pass), piper_pass_op(pass)),
                             piper_str("the option 'most' is no number"), piper_str("most=3, or -1 for all"));
  }
  piper_walk(piper_pass_module(pass), piper_pass_op(pass), PIPER_OUTER_FIRST, hoist, &work);
  return piper_pass_count(pass, piper_str("gathers hoisted"), work.done);
}

static PiperStatus fill(PiperRegistrar *registrar) {
  static const PiperOptionInfo options[] = {
      {PIPER_LITERAL("most"), PIPER_LITERAL("How many are hoisted at most; -1 for all"), PIPER_LITERAL("-1")}};
  static const PiperStr after[] = {PIPER_LITERAL("update")};
  PiperPassInfo info = {0};
  info.size = sizeof info;
  info.name = piper_str("hoist-gathers");
  info.summary = piper_str("Issue every all-gather as soon as its shard is there");
  info.description = piper_str("Trades memory for overlap: what is gathered early is kept until it is used.");
  info.options = options;
  info.num_options = 1;
  info.after = after;
  info.num_after = 1;
  info.run = run;
  return piper_registrar_add_pass(registrar, &info);
}

PIPER_DEFINE_PLUGIN("hoist", "1.0", fill)
