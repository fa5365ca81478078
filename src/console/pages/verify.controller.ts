import type { Readable } from 'node:stream';
import { describeBreak, type ChainBreak } from '../../chain/chain-break.js';
import { asDigestDocument, type DigestDocument } from '../../chain/digest-document.js';
import { digest, verify } from '../../operations/ledger/ledger-check.operations.js';
import { select } from '../../operations/ledger/ledger-selection.js';
import type { Verification } from '../../operations/ledger/ledger-verification.js';
import { NotDone, outcomeOf } from '../../operations/outcome.js';
import { redirected, sendFile, sendPage } from '../console-answers.js';
import { TenantCall } from '../console-call.js';
import { FilePageFor, FormFor, TenantPage } from '../console-routes.js';
import { EventDownloads } from '../event-downloads.js';
import { faultAt, faultsOf, type Faults } from '../view/faults.js';
import { capital, template } from '../view/templates.js';
import { jsonOf } from '../view/typed-document.js';
import { filledIn, queried, queryOf, TenantPages } from './tenant-pages.js';

const content = template('verify');
const PATH = '/verify';
const FORGED =
  'The file is not as this installation signed it. Choose the file as it was downloaded.';

/** For finance: proof that the ledger is unchanged, and the files to check it again. */
@TenantPage('verify')
export class ConsoleVerifyController {
  constructor(
    private readonly pages: TenantPages,
    private readonly downloads: EventDownloads,
  ) {}

  @FilePageFor('finance')
  async page(@TenantCall() call: TenantCall): Promise<string | Readable> {
    const { format, ...asked } = queried(call.query, 'format', 'from', 'to', 'chain');
    if (format === 'digest') return this.sendDigest(call);
    if (format !== 'jsonl') return this.shown(call);
    const { log, tenants } = this.pages.core;
    const span = filledIn({ from: asked.from, to: asked.to });
    const now = await tenants.now(call.ledger);
    const selection = await outcomeOf(() => select(log, span, now));
    if (selection instanceof NotDone) return this.shown(call, faultsOf(selection));
    const name = fileName(call, 'events', 'jsonl');
    const file = { name, type: 'application/jsonl; charset=utf-8' };
    return sendFile(call, file, this.downloads.begin(call, { ...span, chain: asked.chain !== '' }));
  }

  @FormFor('finance')
  async start(@TenantCall() call: TenantCall): Promise<string> {
    const { form, scope } = call;
    const file = form.file('digest');
    const outside = file === undefined ? undefined : asDigestDocument(jsonOf(file));
    if (file !== undefined) {
      const fault = await this.faultOf(call, outside);
      if (fault !== undefined) return this.shown(call, faultAt('digest', fault));
    }
    const run = await this.pages.startedRun(call, verify, { ...scope, digest: outside });
    const [day = ''] = /\d{4}-\d\d-\d\d/.exec(form.fileName('digest')) ?? [];
    const since = outside && (dayText(day) ?? `${outside.events.toLocaleString('en-US')} events`);
    return redirected(call, `${call.tenantPath}${PATH}${queryOf({ run, since: since ?? '' })}`);
  }

  /** Why a file is no digest of this ledger; undefined: it is one. */
  private async faultOf({ scope }: TenantCall, outside: DigestDocument | undefined) {
    if (outside === undefined)
      return 'The file is not a digest. Choose a file from Download digest.';
    const { tenant, mode, log } = outside;
    if (tenant !== scope.tenant || mode !== scope.mode)
      return `The digest is of ${tenant} in ${mode} mode. Choose one of ${scope.tenant} in ${scope.mode} mode.`;
    if (log !== (await this.pages.core.log.id()))
      return `The digest is of another log, ${log}. Choose one that was made from this log.`;
    return undefined;
  }

  private async sendDigest(call: TenantCall): Promise<string> {
    const request = { ...call.scope, sign: true };
    const made = await this.pages.called<DigestDocument>(call, digest, request);
    if (made instanceof NotDone) return this.shown(call, faultsOf(made));
    const name = fileName(call, 'digest', 'json');
    const file = { name, type: 'application/json; charset=utf-8' };
    return sendFile(call, file, `${JSON.stringify(made)}\n`);
  }

  private async shown(call: TenantCall, faults?: Faults): Promise<string> {
    const { run: id, since, ...asked } = queried(call.query, 'run', 'since', 'from', 'to');
    const { values, refresh, resultOf, parameters } = await this.pages.runOfPage(call, id);
    const { digest: kept } = parameters;
    const verification = resultOf<Verification>('ledger verify');
    const broken = verification?.firstBroken ?? null;
    const path = `${call.tenantPath}${PATH}`;
    const isForged = broken?.reason === 'digest-signature';
    const found = isForged ? { problems: [], wrong: { digest: FORGED } } : undefined;
    return sendPage(
      call,
      { of: 'verify', headNote: 'Days are in UTC.', faults: faults ?? found, ...refresh },
      content,
      {
        ...values,
        here: `${path}${queryOf({ run: id, since })}`,
        digestPath: `${path}?format=digest`,
        asked,
        verification,
        isForged,
        // Without a name in the address the digest is known by its beginning.
        since: since || (typeof kept === 'string' ? kept.slice(0, 12) : ''),
        broken: broken && {
          ...broken,
          sentence: `${capital(describeBreak(broken))}.`,
          at: await this.timeOf(broken),
        },
      },
    );
  }

  /** When the event there was recorded, epoch milliseconds; null: the log does not have it. */
  private async timeOf({ position, eventId }: ChainBreak): Promise<number | null> {
    const { log } = this.pages.core;
    // Positions of the embedded log and of Postgres end with a number that counts the events.
    const [, head = '', number = ''] = /^(.*?)(\d{1,18})$/.exec(position ?? '') ?? [];
    const before = `${head}${BigInt(number || 0) - 1n}`;
    if (number === '' || !log.isPosition(before)) return null;
    const [found] = await log.readAll(before, 1);
    return found?.id === eventId ? found.recordedAt : null;
  }
}

/** `digest-demo-live-2026-11-30.json` */
const fileName = ({ scope: { tenant, mode } }: TenantCall, kind: string, type: string): string =>
  `${kind}-${tenant}-${mode}-${new Date().toISOString().slice(0, 10)}.${type}`;

/** `28 November 2026`; undefined: no day. */
function dayText(day: string): string | undefined {
  const at = Date.parse(day);
  if (Number.isNaN(at)) return undefined;
  const parts = { day: 'numeric', month: 'long', year: 'numeric', timeZone: 'UTC' } as const;
  return new Intl.DateTimeFormat('en-GB', parts).format(at);
}
