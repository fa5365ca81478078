import { modeOf } from '../../domain/scope.js';
import * as z from 'zod';
import { describeBreak } from '../../chain/chain-break.js';
import { asDigestDocument, DIGEST_DOCUMENT } from '../../chain/digest-document.js';
import { publicKeyIn, verifyExport } from '../../chain/exported-chain.js';
import { recordEverywhere } from '../audit.js';
import { auditedOn } from '../audited.js';
import { given, help, mode, month, reason, tenant, text, time } from '../registry/members.js';
import { scopeOf } from '../registry/context.js';
import { type Operation, recordedOperation, serviceOperation } from '../registry/operation.js';
import { post } from '../registry/routes.js';
import { parseBalances } from './balance-file.js';
import { noteLater } from './later-entries.js';
import { ledgerDigest } from './ledger-digest.js';
import { reconcileLedger } from './ledger-reconciliation.js';
import { replayLedger } from './ledger-replay.js';
import { printReconciliation, REPLAY_DIFFERENCES } from './ledger-tables.js';
import { verifyLedger, type Verification } from './ledger-verification.js';
import { acknowledgeLoss } from './loss-acknowledgement.js';
import { notDone } from '../outcome.js';
import { Stopped } from '../log/log-reader.js';
import { tenantNamed } from '../tenants/tenant-operation.js';

const differencesFound = (differences: readonly unknown[], where = ''): string =>
  `${differences.length} ${differences.length === 1 ? 'difference' : 'differences'}${where}`;

export const replay = recordedOperation({
  name: 'ledger replay',
  summary: 'folds the log and compares it with the read models; can be stopped and resumed',
  members: {
    account: help(text.optional(), 'this account only'),
    asOf: given(time.optional(), { help: 'as of this time', placeholder: 'time' }),
    position: help(text.optional(), 'as of this position'),
    resumeFrom: given(text.optional(), {
      help: 'the position where an earlier run stopped',
      placeholder: 'position',
    }),
  },
  rules: [
    {
      check: ({ asOf, position }) =>
        asOf !== undefined && position !== undefined
          ? '{asOf} and {position} exclude each other'
          : undefined,
      schema: { not: { required: ['asOf', 'position'], properties: { asOf: {}, position: {} } } },
    },
  ],
  roles: ['finance'],
  isLong: true,
  route: post('ledger/{tenant}/replay', 'ACCOUNT_NOT_FOUND'),
  examples: [
    'ledger replay acme',
    'ledger replay acme --mode test --json > drift.json',
    'ledger replay acme --account 42 --as-of 2026-01-31',
  ],
  record: async ({ core, scope, note, ...work }, request) => {
    const done = await replayLedger(core, scope, request, work);
    const left = done.result.notCompared;
    const accounts = left === 1 ? '1 account has' : `${left} accounts have`;
    if (left > 0) note(`${accounts} changed since then: folded, not compared`);
    return done;
  },
  print: ({ differences, events, position, notCompared }, { table, line }) => {
    const agree =
      notCompared > 0 ? 'folded, no difference in what was compared' : 'agree with the read models';
    if (differences.length > 0) table(REPLAY_DIFFERENCES, differences);
    else line(`OK: ${events} events up to ${position ?? 'the beginning'} ${agree}`);
  },
  ending: ({ differences }) =>
    differences.length === 0
      ? undefined
      : {
          exitCode: 2,
          line: differencesFound(differences, ' between the ledger and its read models'),
        },
});

export const reconcile = recordedOperation({
  name: 'ledger reconcile',
  summary: 'the roll-forward and trial balance of each unit, and the differences',
  members: {
    period: given(month.optional(), {
      help: 'this month, in UTC; default: everything up to now',
      placeholder: 'YYYY-MM',
    }),
    against: given(z.string().max(900_000).optional(), { only: 'http' }),
    balances: given(z.string().optional(), {
      only: 'cli',
      file: 'text',
      option: 'against',
      help: 'a CSV file account,unit,balance to compare with',
    }),
  },
  roles: ['finance'],
  isLong: true,
  parameters: ({ period, against, balances }) => ({
    period,
    againstFile: (against ?? balances) !== undefined,
  }),
  route: post('ledger/{tenant}/reconciliation'),
  examples: [
    'ledger reconcile acme --period 2026-01',
    'ledger reconcile acme --against balances.csv',
  ],
  record: async (context, { period, against, balances = against }) => {
    const { core, scope, note, by } = context;
    const source = by.channel === 'cli' ? '--against' : 'against';
    const { units } = await tenantNamed(core, scope.tenant);
    const file =
      balances === undefined ? undefined : await parseBalances(balances, source, units.formats);
    const done = await reconcileLedger(core, scope, { period, against: file }, context);
    if (period !== undefined) await noteLater(context, 'month', period);
    const overdue = done.result.units.reduce((sum, unit) => sum + unit.overdue, 0);
    if (overdue > 0)
      note(
        `${overdue} dates passed more than an hour ago and are not recorded yet: check that the jobs run`,
      );
    return done;
  },
  print: printReconciliation,
  ending: ({ differences }) =>
    differences.length === 0
      ? undefined
      : { exitCode: 2, line: `NOT OK: ${differencesFound(differences)}` },
});

export const digest = recordedOperation({
  name: 'ledger digest',
  summary: "the digest of a tenant's chain, a JSON document to keep elsewhere",
  members: { sign: help(z.boolean().default(false), 'with the signature of this installation') },
  roles: ['finance'],
  isLong: true,
  route: post('ledger/{tenant}/digest'),
  examples: ['ledger digest acme --sign --json > digest.json'],
  record: async ({ core, scope, signal, onProgress }, { sign }) => {
    const sealing = { signal, onProgress: (events: number) => onProgress('sealing', events) };
    const result = await ledgerDigest(core, { scope, sign, ...sealing });
    if (signal.aborted) throw new Stopped();
    return { result, parameters: { sign } };
  },
});

const { $schema: _schema, ...DIGEST } = z.toJSONSchema(DIGEST_DOCUMENT, { io: 'input' });

export const verify = serviceOperation({
  name: 'ledger verify',
  summary:
    'recomputes the chain of a tenant, or of an export, and compares it with its seals; exit 3 when it is broken',
  members: {
    tenant: tenant.optional(),
    mode,
    digest: given(z.unknown().meta(DIGEST).optional(), {
      file: 'json',
      help: 'an earlier output of ledger digest',
    }),
    exported: given(z.string().optional(), {
      only: 'cli',
      file: 'text',
      option: 'export',
      help: 'an output of ledger export --chain, verified without the log and the master key',
    }),
    publicKey: given(z.string().optional(), {
      only: 'cli',
      file: 'text',
      help: 'the public key of the installation: PEM, base64, or an output of ledger digest --sign',
    }),
  },
  positions: ['tenant'],
  rules: [
    {
      check: ({ digest: outside }) =>
        outside !== undefined && asDigestDocument(outside) === undefined
          ? '{digest} is not what the digest operation answers'
          : undefined,
      schema: {},
    },
    {
      check: ({ tenant: alias, exported, publicKey, digest: outside }) => {
        if ((alias === undefined) === (exported === undefined))
          return 'name a tenant, or {exported}';
        if (exported === undefined) return undefined;
        if (outside !== undefined) return '{exported} and {digest} exclude each other';
        if (publicKeyIn(publicKey ?? '') === undefined)
          return '{exported} needs {publicKey} with an Ed25519 public key';
        return exported.includes('"content":"')
          ? undefined
          : '{exported} is no ledger export --chain';
      },
      schema: {},
    },
  ],
  withoutStores: ({ exported }) => exported !== undefined,
  roles: ['finance'],
  isRecorded: true,
  isLong: true,
  parameters: ({ digest: outside }) => ({ digest: asDigestDocument(outside)?.digest }),
  route: post('ledger/{tenant}/verification', 'TENANT_NOT_FOUND'),
  examples: [
    'ledger verify acme --digest digest.json',
    'ledger verify --export acme.jsonl --public-key digest.json',
  ],
  run: async (context, request): Promise<Verification | ReturnType<typeof verifyExport>> => {
    const key = publicKeyIn(request.publicKey ?? '');
    if (request.exported !== undefined && key !== undefined)
      return verifyExport(request.exported.split('\n'), key);
    const { core, by, warn, signal, pauseForRequests, onProgress } = context;
    const scope = await scopeOf(core, request);
    const outside = asDigestDocument(request.digest);
    if (
      outside !== undefined &&
      (outside.tenant !== scope.tenant || outside.mode !== modeOf(scope.mode))
    )
      throw notDone((word) => `${word('digest')} is of ${outside.tenant} in ${outside.mode} mode`);
    return auditedOn(core, { scope, by, operation: 'ledger verify', warn }, async () => {
      const result = await verifyLedger(core, {
        scope,
        outside,
        signal,
        pauseForRequests,
        onProgress,
      });
      const parameters = { digest: outside?.digest };
      return { result, parameters, completed: 'the chain was verified' };
    });
  },
  print: ({ firstBroken, events, position, digest: recomputed, seals }, { line, note }) => {
    if (firstBroken !== null) return;
    line(`OK: ${events} events are as they were sealed, up to position ${position ?? 'none'}`);
    line(`digest ${recomputed}`);
    note(`${seals} seals compared`);
  },
  ending: ({ firstBroken }) =>
    firstBroken === null ? undefined : { exitCode: 3, line: describeBreak(firstBroken) },
});

const acknowledge = serviceOperation({
  name: 'ledger acknowledge-loss',
  summary:
    'after the log lost its end: records who acknowledges it and why; until then ledger verify exits 3',
  members: { reason: help(reason, 'what happened, for later auditors') },
  roles: [],
  isRecorded: true,
  examples: ['ledger acknowledge-loss --reason "restored from the backup"'],
  run: async ({ core, by, warn, signal }, { reason: why }) => {
    const result = await acknowledgeLoss(core, { reason: why, by, signal });
    // Each tenant may have lost events. The reason is free text and may name a person: it is stored
    // in the acknowledgement only, whose digest is in the event.
    const parameters = { from: result.from ?? 'unknown', to: result.to ?? 'none' };
    const done = { operation: 'ledger acknowledge-loss', by, parameters, result };
    await recordEverywhere(core, done, { completed: 'the loss was acknowledged', warn });
    return result;
  },
  print: ({ from, to, seals }, { line, note }) => {
    line(
      `acknowledged: the log lost its events after position ${to ?? 'none'}, up to ${from ?? 'unknown'}`,
    );
    note(`${seals.length} seals of lost events are kept with the acknowledgement`);
  },
});

export const ledgerChecks: readonly Operation[] = [replay, reconcile, digest, verify, acknowledge];
