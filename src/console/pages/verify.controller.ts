import { Controller, Get, HttpCode, Param, Post, Query as QueryParameters } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import { breakInWords } from '../../chain/chain-break.js';
import { asDigestDocument, type DigestDocument } from '../../chain/digest-document.js';
import type { Scope } from '../../domain/scope.js';
import type { Verification } from '../../operations/ledger/ledger-verification.js';
import { digest, verify } from '../../operations/ledger/ledger-check.operations.js';
import { ConsoleCall, ForRoles, pageSent, redirected } from '../console-call.js';
import { faultAt, NO_FAULTS, type Faults } from '../view/faults.js';
import { tenantPath } from '../view/layout.js';
import { template } from '../view/templates.js';
import {
  queried,
  queryOf,
  TENANT_ROUTE,
  TenantPages,
  type TenantParameters,
} from './tenant-pages.js';
import { TEXTS } from '../texts.js';

const content = template(`
<p>${TEXTS.verify.explained}</p>
<form class="fields" method="post" enctype="multipart/form-data">{{> csrf}}<input type="hidden" name="action" value="verify">
{{formField 'digest' label="${TEXTS.verify.digestFile}" type="file" accept=".json,application/json" hint="${TEXTS.verify.digestFileHint}"}}
<button>${TEXTS.verify.verify}</button>
</form>
<form class="actions" method="post" enctype="multipart/form-data">{{> csrf}}<input type="hidden" name="action" value="digest"><button class="quiet">${TEXTS.verify.makeDigest}</button></form>
{{#if isGone}}<p class="problem" role="alert">${TEXTS.common.runIsGone}</p>{{/if}}
{{#if run}}{{> run}}{{/if}}
{{#if verification}}
{{#if verification.ok}}<p class="done">${TEXTS.verify.isIntact}</p>{{else}}
<p class="problem" role="alert">{{firstBreak}}</p>{{/if}}
<dl class="figures">
<div><dt>${TEXTS.verify.intact}</dt><dd>{{figure 'ok' verification.ok ''}}</dd></div>
<div><dt>${TEXTS.common.events}</dt><dd>{{figure 'events' verification.events ''}}</dd></div>
<div><dt>${TEXTS.fields.position}</dt><dd>{{figure 'position' verification.position ''}}</dd></div>
<div><dt>${TEXTS.common.digest}</dt><dd class="id">{{figure 'digest' verification.digest ''}}</dd></div>
</dl>
{{/if}}
{{#if digest}}
<h2>${TEXTS.common.digest}</h2>
<p>${TEXTS.verify.keepDigest} <a href="{{here}}&amp;format=json" download="digest.json">${TEXTS.verify.download}</a></p>
<dl class="figures"><div><dt>${TEXTS.common.digest}</dt><dd class="id">{{figure 'digest' digest.digest ''}}</dd></div><div><dt>${TEXTS.common.events}</dt><dd>{{figure 'events' digest.events ''}}</dd></div></dl>
<pre class="id" tabindex="0">{{json digest}}</pre>
{{/if}}`);

/** For finance: proof that the ledger was not tampered with. */
@ApiExcludeController()
@Controller(`${TENANT_ROUTE}/verify`)
export class ConsoleVerifyController {
  constructor(private readonly pages: TenantPages) {}

  @Get()
  @ForRoles('finance')
  async page(
    @ConsoleCall() call: ConsoleCall,
    @Param() parameters: TenantParameters,
    @QueryParameters() query: unknown,
  ): Promise<string> {
    const scope = await this.pages.scopeOf(parameters);
    const { run: id, format } = queried(query, 'run', 'format');
    const { operation, result } = await this.pages.runOfPage(call, id, scope);
    if (format === 'json' && operation === 'ledger digest' && result !== undefined) {
      void call.reply
        .header('Content-Type', 'application/json; charset=utf-8')
        .header('Content-Disposition', 'attachment; filename="digest.json"');
      return `${JSON.stringify(result)}\n`;
    }
    return this.shown(call, scope, { id, faults: NO_FAULTS });
  }

  @Post()
  @HttpCode(200)
  @ForRoles('finance')
  async start(
    @ConsoleCall() call: ConsoleCall,
    @Param() parameters: TenantParameters,
  ): Promise<string> {
    const scope = await this.pages.scopeOf(parameters);
    if (call.form.text('action') === 'digest') return this.startDigest(call, scope);
    const file = call.form.file('digest');
    const outside = file === undefined ? undefined : asDigestDocument(jsonOf(file));
    if (file !== undefined && outside === undefined)
      return this.shown(call, scope, {
        id: '',
        faults: faultAt('digest', TEXTS.verify.noDigest),
      });
    if (outside !== undefined && (outside.tenant !== scope.tenant || outside.mode !== scope.mode))
      return this.shown(call, scope, {
        id: '',
        faults: faultAt('digest', TEXTS.verify.digestOfOthers(outside.tenant, outside.mode)),
      });
    const run = await this.pages.startedRun(call, verify, { ...scope, digest: outside });
    return redirected(call, `${tenantPath(scope)}/verify${queryOf({ run })}`);
  }

  private async startDigest(call: ConsoleCall, scope: Scope): Promise<string> {
    const run = await this.pages.startedRun(call, digest, { ...scope, sign: true });
    return redirected(call, `${tenantPath(scope)}/verify${queryOf({ run })}`);
  }

  private async shown(
    call: ConsoleCall,
    scope: Scope,
    { id, faults }: { readonly id: string; readonly faults: Faults },
  ): Promise<string> {
    const { run, isGone, operation, result, refresh } = await this.pages.runOfPage(call, id, scope);
    const isOf = (name: string): boolean => result !== undefined && operation === name;
    const verification = isOf('ledger verify') ? (result as Verification) : null;
    const broken = verification?.firstBroken;
    const sentence = broken ? breakInWords(broken) : TEXTS.verify.isBroken;
    const frame = { title: TEXTS.sections.verify, scope, section: '/verify', faults, ...refresh };
    return pageSent(call, frame, content, {
      run,
      isGone,
      here: `${tenantPath(scope)}/verify${queryOf({ run: id })}`,
      verification,
      firstBreak: `${sentence.slice(0, 1).toUpperCase()}${sentence.slice(1)}.`,
      digest: isOf('ledger digest') ? (result as DigestDocument) : null,
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
