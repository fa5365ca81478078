/** A fault that is put into the code, to see whether the simulator finds it. */
export interface Plant {
  readonly name: string;
  /** What is wrong with it. */
  readonly fault: string;
  /** The compiled module, below `dist`. */
  readonly file: string;
  /** Occurs there exactly once. */
  readonly find: string;
  readonly replace: string;
}

export const PLANTS: readonly Plant[] = [
  {
    name: 'redeem-despite-hold',
    fault: 'a reward that a moderation holds can be redeemed',
    file: 'src/domain/account/redemption.js',
    find: 'const hold = heldBy(state, known);',
    replace: 'const hold = undefined;',
  },
  {
    name: 'redeem-one-more',
    fault: 'one more than what is left of a reward can be redeemed',
    file: 'src/domain/account/redemption.js',
    find: 'if (amount > amountLeft(reward))',
    replace: 'if (amount > amountLeft(reward) + 1)',
  },
  {
    name: 'queue-never-counts-down',
    fault: 'after a thousand commands an account is too busy for ever',
    file: 'src/command-handling/one-at-a-time.js',
    find: 'queue.waiting--;',
    replace: '',
  },
  {
    name: 'page-not-awaited',
    fault: 'the checkpoint of the policies moves before their reactions are carried out',
    file: 'src/policies/page-reactions.js',
    find: 'await this.carryOutAll([...lanes], signal);',
    replace: 'void this.carryOutAll([...lanes], signal).catch(() => undefined);',
  },
  {
    name: 'failed-reaction-dropped',
    fault: 'a reaction that failed again and again is not parked',
    file: 'src/policies/page-reactions.js',
    find: 'tries >= TRIES_MAX)\n                    throw error;',
    replace: 'tries >= TRIES_MAX)\n                    return;',
  },
  {
    name: 'policy-skips-conversion',
    fault: 'a conversion grants the referrer nothing',
    file: 'src/policies/grant-referrer-reward-when-earned.js',
    find: "            case 'ReferralConverted':\n",
    replace: '',
  },
  {
    name: 'reservation-not-exclusive',
    fault: 'a code that another person holds can be reserved',
    file: 'src/domain/reservation/reservation.decider.js',
    find: 'if (!sameHolder(state.holder, holder))',
    replace: 'if (false)',
  },
  {
    name: 'reservation-taken-over-at-once',
    fault: 'a reservation is taken over before its account could record it',
    file: 'src/command-handling/needs/reservations.js',
    find: 'const UNRECORDED_MS = 120_000;',
    replace: 'const UNRECORDED_MS = -1;',
  },
  {
    name: 'key-not-destroyed',
    fault: 'an erasure leaves the keys',
    file: 'src/command-handling/processes/erasure-process.js',
    find: 'await this.keys.destroy(subjects);',
    replace: '',
  },
  {
    name: 'state-cached-across-erasure',
    fault: 'a state that was read during an erasure is remembered',
    file: 'src/command-handling/stream-cache.js',
    find: 'if (this.evictionCount !== evictionsBefore)\n            return folded;',
    replace: '',
  },
  {
    name: 'erasure-not-announced',
    fault: 'other processes go on with the plain values of a forgotten person',
    file: 'src/command-handling/processes/erasure-process.js',
    find: 'await this.announce(subjects);',
    replace: '',
  },
  {
    name: 'handled-not-folded',
    fault: 'commands that are in the log are not recognised',
    file: 'src/command-handling/fold-stream.js',
    find: 'folded.handled.record(envelope, {',
    replace: 'void (envelope, {',
  },
  {
    name: 'handled-not-noted',
    fault: 'a command is not recognised by the process that carried it out',
    file: 'src/command-handling/handle-command.js',
    find: 'folded.handled.record(envelope, { lastRevision: revision, recordedAt: timeNow() });',
    replace: '',
  },
  {
    name: 'another-request-under-the-key',
    fault: 'another request under a key gets the effect of the first one as its own',
    file: 'src/command-handling/handled-commands.js',
    find: 'return before.idempotency?.fingerprint === idempotency?.fingerprint',
    replace: 'return true',
  },
  {
    name: 'kept-answer-of-another-request',
    fault: 'another request under a key gets the kept answer of the first one',
    file: 'src/kept-answers/kept-answers.js',
    find: 'if (row.fingerprint !== request.fingerprint)',
    replace: 'if (false)',
  },
  {
    name: 'moderation-agrees-always',
    fault: 'a moderation is applied although an account refused it',
    file: 'src/command-handling/processes/moderation-process.js',
    find: 'await this.step(meta, moderationId, reasons.length > 0',
    replace: 'await this.step(meta, moderationId, false',
  },
  {
    name: 'moderation-holds-for-ever',
    fault: 'a refused moderation does not release its accounts',
    file: 'src/command-handling/processes/moderation-process.js',
    find: "await this.send(meta, part.account, { type: 'ReleaseModeration', moderationId, now });",
    replace: 'void part;',
  },
  {
    name: 'moderation-skips-referrers',
    fault: 'a moderation is not applied to the side of the referrers',
    file: 'src/command-handling/processes/moderation-process.js',
    find: "if (part.side === 'referrer')",
    replace: 'if (false)',
  },
  {
    name: 'moderations-wait-for-each-other',
    fault: "two moderations that hold each other's accounts wait for ever",
    file: 'src/command-handling/processes/moderation-process.js',
    find: 'if (next === own)',
    replace: 'if (false)',
  },
  {
    name: 'redemption-never-listed',
    fault: 'the rewards of a bulk redemption are not listed when its process dies',
    file: 'src/policies/list-redeemed-rewards.js',
    find: "handles: new Set(['AccountCreditRedeemed'])",
    replace: 'handles: new Set()',
  },
  {
    name: 'rewards-never-settle',
    fault: 'scheduled rewards do not become available',
    file: 'src/policies/settle-rewards-on-their-dates.js',
    find: "kind: 'job'",
    replace: "kind: 'none'",
  },
  {
    name: 'abandoned-moderation',
    fault: 'nobody finishes a moderation whose process died',
    file: 'src/policies/finish-abandoned-moderations.js',
    find: "handles: new Set(['ModerationRequested'])",
    replace: 'handles: new Set()',
  },
  {
    name: 'abandoned-erasure',
    fault: 'nobody finishes an erasure whose process died',
    file: 'src/policies/finish-abandoned-erasures.js',
    find: "handles: new Set(['ErasureRequested'])",
    replace: 'handles: new Set()',
  },
  {
    name: 'conflict-taken-for-success',
    fault: 'a command whose append met a conflict is answered as accepted',
    file: 'src/command-handling/handle-command.js',
    find: "if (appended.kind === 'conflict')\n            return undefined;",
    replace:
      "if (appended.kind === 'conflict')\n            return { kind: 'accepted', events, eventIds, state: folded.state, position: folded.position, replayed: false };",
  },
  {
    name: 'refused-on-a-remembered-state',
    fault: 'a refusal rests on a state that another process has changed since',
    file: 'src/command-handling/handle-command.js',
    find: 'let isNewest = remembered === undefined;',
    replace: 'let isNewest = true;',
  },
  {
    name: 'rows-applied-again',
    fault: 'a read model applies events that are in its rows already',
    file: 'src/projecting/following/projection-track.js',
    find: 'return this.parts.log.compare(position, this.at) > 0;',
    replace: 'return true;',
  },
  {
    name: 'rows-not-loaded-again',
    fault: 'a read model goes on after a failed write without loading its checkpoint again',
    file: 'src/projecting/following/projection-runner.js',
    find: 'if (failed !== undefined)\n                    await this.restore(track);',
    replace: '',
  },
  {
    name: 'piece-of-erasure-left-out',
    fault: 'of the rows about a forgotten person only the first piece is cleaned',
    file: 'src/projecting/following/projection-track.js',
    find: 'this.unfinished = true;',
    replace: ';',
  },
  {
    name: 'restored-reward-stays-cancelled',
    fault: 'a read model does not show that a reward was restored',
    file: 'projections/rewards/projector.js',
    find: 'change(rows, rewardId, () => ({ date_cancelled: null, date_changed: at }));',
    replace: '',
  },
];
