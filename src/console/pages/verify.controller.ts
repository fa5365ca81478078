import { breakInWords } from '../../chain/chain-break.js';
import { asDigestDocument, type DigestDocument } from '../../chain/digest-document.js';
import type { Verification } from '../../operations/ledger/ledger-verification.js';
import { digest, verify } from '../../operations/ledger/ledger-check.operations.js';
import { FormFor, PageFor, pageSent, redirected, TenantCall, TenantPage } from '../console-call.js';
import { faultAt, type Faults } from '../view/faults.js';
import { template } from '../view/templates.js';
import { queried, queryOf, TenantPages } from './tenant-pages.js';
import { TEXTS } from '../texts.js';

const content = template('verify');

/** For finance: proof that the ledger was not tampered with. */
@TenantPage('verify')
export class ConsoleVerifyController {
  constructor(private readonly pages: TenantPages) {}

  @PageFor('finance')
  async page(@TenantCall() call: TenantCall): Promise<string> {
    const { run: id, format } = queried(call.query, 'run', 'format');
    const result = (await this.pages.runOfPage(call, id)).resultOf('ledger digest');
    if (format === 'json' && result !== null) {
      void call.reply
        .header('Content-Type', 'application/json; charset=utf-8')
        .header('Content-Disposition', 'attachment; filename="digest.json"');
      return `${JSON.stringify(result)}\n`;
    }
    return this.shown(call);
  }

  @FormFor('finance')
  async start(@TenantCall() call: TenantCall): Promise<string> {
    if (call.form.text('action') === 'digest') return this.startDigest(call);
    const file = call.form.file('digest');
    const outside = file === undefined ? undefined : asDigestDocument(jsonOf(file));
    if (file !== undefined && outside === undefined)
      return this.shown(call, faultAt('digest', TEXTS.verify.noDigest));
    const { tenant, mode } = outside ?? call.scope;
    if (tenant !== call.scope.tenant || mode !== call.scope.mode)
      return this.shown(call, faultAt('digest', TEXTS.verify.digestOfOthers(tenant, mode)));
    const run = await this.pages.startedRun(call, verify, { ...call.scope, digest: outside });
    return redirected(call, `${call.tenantPath}/verify${queryOf({ run })}`);
  }

  private async startDigest(call: TenantCall): Promise<string> {
    const run = await this.pages.startedRun(call, digest, { ...call.scope, sign: true });
    return redirected(call, `${call.tenantPath}/verify${queryOf({ run })}`);
  }

  private async shown(call: TenantCall, faults?: Faults): Promise<string> {
    const { run: id } = queried(call.query, 'run');
    const { values, refresh, resultOf } = await this.pages.runOfPage(call, id);
    const verification = resultOf<Verification>('ledger verify');
    const broken = verification?.firstBroken;
    const sentence = broken ? breakInWords(broken) : TEXTS.verify.isBroken;
    return pageSent(call, { of: 'verify', faults, ...refresh }, content, {
      ...values,
      here: `${call.tenantPath}/verify${queryOf({ run: id })}`,
      verification,
      firstBreak: `${sentence.slice(0, 1).toUpperCase()}${sentence.slice(1)}.`,
      digest: resultOf<DigestDocument>('ledger digest'),
    });
  }
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
