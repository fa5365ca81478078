import {
  AccountCommandEnvelope,
  type AccountOutcome,
  type Commands,
} from '../../command-handling/commands.js';
import type { AccountState, ImportedEntry } from '../../domain/account/account.state.js';
import { SIDES } from '../../domain/account/imports/import-referral.js';
import type { Refusal } from '../../domain/refusal.js';
import { metaOf, type Actor } from '../../event-log/envelope.js';
import type { Core } from '../../stores/core.js';
import type { Connection } from '../../postgres/statements.js';
import type { GivenCodes } from './given-codes.js';
import type {
  ControlFigures,
  ImportRow,
  ImportRun,
  ImportsRow,
  RowOutcome,
} from './import-rows.js';
import { referralCommand, rewardCommand, userCommand, type RowCommand } from './row-commands.js';
import { RowFault } from './row-fields.js';

/**
 * Opens the importing of one run. A dry run sends the same commands to a copy of the ledger that
 * ends with its connection.
 * @param codes that the rows of the file give: they are generated for no other user.
 */
export async function openRowImport(
  core: Pick<Core, 'commands' | 'names' | 'openDryRun'>,
  run: ImportRun & { readonly actor: Actor },
  { db, codes }: { readonly db: Connection; readonly codes: Importing['codes'] },
): Promise<ImportsRow> {
  const commands = run.dryRun ? await core.openDryRun(db) : core.commands;
  return (row) => importRow(core, { commands, codes, run }, row);
}

interface Importing {
  readonly commands: Commands;
  readonly codes: Pick<GivenCodes, 'has'>;
  readonly run: ImportRun & { readonly actor: Actor };
}

const COMMANDS = { users: userCommand, referrals: referralCommand, rewards: rewardCommand };

async function importRow(
  { names }: Pick<Core, 'names'>,
  { commands, codes, run }: Importing,
  row: ImportRow,
): Promise<RowOutcome> {
  const { tenant, mode, actor } = run;
  const scope = { tenant, mode };
  let asked: RowCommand;
  try {
    asked = COMMANDS[run.kind](names, scope, row);
  } catch (error) {
    if (!(error instanceof RowFault)) throw error;
    return { kind: 'rejected', reason: `BAD_REQUEST: ${error.message}` };
  }
  const { account, command } = asked;
  const meta = metaOf(scope, actor, 'import');
  const outcome = await commands.execute(
    new AccountCommandEnvelope(meta, account, command, (code) => codes.has(code)),
  );
  if (run.kind === 'referrals' && outcome.kind === 'accepted')
    await linkRewards(commands, run, outcome.state);
  return outcomeOf(outcome, command.ref);
}

/** Those that came in before their referral; also of a row that a crash left without them. */
async function linkRewards(
  commands: Commands,
  { tenant, mode, actor }: Importing['run'],
  state: AccountState,
): Promise<void> {
  const referral = state.status === 'open' ? state.referral : null;
  for (const side of SIDES) {
    const rewardId = referral?.named?.[side];
    if (!referral || !rewardId) continue;
    const { account, person } = referral[side];
    const { referralId } = referral;
    const meta = metaOf({ tenant, mode }, actor, 'import');
    const command = { type: 'LinkImportedReward', rewardId, person, referralId, side } as const;
    await commands.execute(new AccountCommandEnvelope(meta, account, command));
  }
}

function outcomeOf(outcome: AccountOutcome, ref: string): RowOutcome {
  if (outcome.kind === 'refused') {
    const { refused, details } = outcome;
    const sentence = details.join(' ') || (SENTENCES[refused] ?? refused);
    return { kind: 'rejected', reason: `${CODES[refused] ?? refused}: ${sentence}` };
  }
  const entry = outcome.state.remains.imported.get(ref);
  const isForgotten = entry?.row === null;
  return {
    kind: outcome.events.length > 0 ? 'imported' : 'unchanged',
    ...(entry?.ledgerId != null && !isForgotten && { ledgerId: entry.ledgerId }),
    ...(entry?.credit && { control: controlOf(entry.credit, entry) }),
  };
}

const controlOf = (
  credit: NonNullable<ImportedEntry['credit']>,
  { at }: Pick<ImportedEntry, 'at'>,
): ControlFigures => ({ ...credit, rewards: 1, at });

/** Codes of answers for refusals without a code of their own. */
const CODES: Readonly<Partial<Record<Refusal, string>>> = {
  ROW_INVALID: 'BAD_REQUEST',
  PROGRAM_UNKNOWN: 'BAD_REQUEST',
  CODE_PROGRAM_CONFLICT: 'BAD_REQUEST',
  CURRENCY_DIFFERS: 'BAD_REQUEST',
  REWARD_DATES_INVALID: 'BAD_REQUEST',
  RECORD_TOO_LARGE: 'BAD_REQUEST',
};

/** Sentences for refusals without details. */
const SENTENCES: Readonly<Partial<Record<Refusal, string>>> = {
  USER_NOT_FOUND: 'The account has no such user: import users first',
  USER_EXISTS: 'The user exists and was not imported',
  DO_NOT_TRACK: 'The user asked not to be tracked',
  TOO_MANY_USERS: 'The account has 1000 users already',
  REFERRAL_CODE_TAKEN: 'The referral code is that of another person',
  ALREADY_REFERRED: 'The account is referred already',
  PAYMENT_PROVIDER_ID_SET: 'The account has another paymentProviderId',
  PAYMENT_PROVIDER_ID_USED: 'Another account has this paymentProviderId',
};
