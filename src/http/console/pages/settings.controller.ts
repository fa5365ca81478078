import { Controller, Get, HttpCode, Param, Post } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { Scope } from '../../../domain/scope.js';
import { CALL_WINDOWS, COUNTED_CALLS } from '../../../domain/tenant/open-rules.js';
import { durationMs } from '../../../foundation/duration.js';
import { NotDone } from '../../../operations/outcome.js';
import {
  changeSettings,
  digestOfSettings,
  keysOf,
  limitsOf,
  rotateOnRecord,
  settingsOf,
  signingSecretsOf,
  suspendOnRecord,
  type ShownKey,
  type TenantSettings,
} from '../../../operations/tenants/tenant-settings.js';
import { MAIL_TYPES } from '../../../themes/theme-instance.js';
import { ApiError } from '../../edge/api-error.js';
import { OperationsCore } from '../../operations/operations-core.js';
import { ConsoleCall, ForRoles, pageSent, redirected } from '../console-call.js';
import type { Form } from '../sessions/form.js';
import { tenantPath } from '../view/layout.js';
import { timeText } from '../view/run-view.js';
import { template, type WithForms } from '../view/templates.js';
import { problemsOf, TENANT_ROUTE, TenantPages, type TenantParameters } from './tenant-pages.js';

interface KeysView {
  readonly title: string;
  readonly action: string;
  readonly button: string;
  readonly newest: string;
  readonly keys: readonly ShownKey[];
}

const content = template<
  WithForms & {
    problems: readonly string[];
    issued: { what: string; secret: string } | null;
    mode: string;
    kinds: readonly KeysView[];
    seen: string;
    settings: TenantSettings & { origins: string; addresses: string; isMinimal: boolean };
    mails: readonly { type: string; isOn: boolean }[];
    limits: readonly { call: string; calls: string; hint: string }[];
    suspension: { since: string; reason: string | null } | null;
  }
>(`
{{> problems}}
{{#if issued}}<div class="done" role="status"><p>The new {{issued.what}}. It is shown this once: copy it now.</p><p><code class="secret" data-figure="secret" data-value="{{issued.secret}}" tabindex="0">{{issued.secret}}</code></p></div>{{/if}}
<h2>Keys of the {{mode}} mode</h2>
{{#each kinds}}<h3>{{title}}</h3>
<div class="scroll" tabindex="0"><table><thead><tr><th scope="col">Id</th><th scope="col">Valid until</th></tr></thead>
<tbody>{{#each keys}}<tr><td class="id">{{id}}</td><td>{{#if validUntil}}{{time validUntil}}{{else}}the next rotation{{/if}}</td></tr>
{{/each}}</tbody></table></div>
<form class="actions" method="post">{{> csrf}}<input type="hidden" name="seen" value="{{newest}}">
<label for="grace-{{action}}">The one before is valid for</label><select id="grace-{{action}}" name="grace" class="short"><option value="24h">24 hours</option><option value="7d">7 days</option><option value="1h">1 hour</option><option value="0">no longer</option></select>
<button name="action" value="{{action}}">{{button}}</button></form>
{{/each}}
<h2>Switches of both modes</h2>
<form method="post">{{> csrf}}<input type="hidden" name="seen" value="{{seen}}">
<div class="fields">
<div class="tick"><input type="checkbox" id="open" name="openEndpoints"{{#if settings.openEndpoints}} checked{{/if}}><label for="open">Open endpoints</label><span class="hint">Widgets and visitors call them without a key.</span></div>
<div class="tick"><input type="checkbox" id="provider" name="paymentProvider"{{#if settings.paymentProvider}} checked{{/if}}><label for="provider">Payment provider</label><span class="hint">Accounts come from it.</span></div>
<div class="tick"><input type="checkbox" id="expiry" name="tokensMustExpire"{{#if settings.tokensMustExpire}} checked{{/if}}><label for="expiry">User tokens must expire</label><span class="hint">One without exp is refused.</span></div>
<div class="tick"><input type="checkbox" id="minimal" name="minimal"{{#if settings.isMinimal}} checked{{/if}}><label for="minimal">Minimal public user</label><span class="hint">Without e-mail and last name.</span></div>
</div>
<fieldset><legend>Mails that go out</legend><div class="fields broad">{{#each mails}}<div class="tick"><input type="checkbox" id="mail-{{type}}" name="mail" value="{{type}}"{{#if isOn}} checked{{/if}}><label for="mail-{{type}}">{{type}}</label></div>{{/each}}</div></fieldset>
<div class="fields broad">
<div class="field"><label for="addresses">Mails of the test mode go to</label><textarea id="addresses" name="addresses" rows="3" aria-describedby="addresses-hint">{{settings.addresses}}</textarea><span class="hint" id="addresses-hint">One address a line; none: nobody.</span></div>
<div class="field"><label for="not-before">User tokens not before</label><input id="not-before" name="tokensNotBefore" value="{{settings.tokensNotBefore}}" placeholder="of any age" aria-describedby="not-before-hint"><span class="hint" id="not-before-hint">Those issued before are refused: 2026-10-31T12:00Z; empty: none is.</span></div>
<div class="field"><label for="origins">Allowed origins</label><textarea id="origins" name="origins" rows="3" aria-describedby="origins-hint">{{settings.origins}}</textarea><span class="hint" id="origins-hint">Whose pages read open endpoints, one a line; none: all.</span></div>
</div>
<fieldset><legend>Calls of a client</legend><div class="fields">{{#each limits}}<div class="field"><label for="limit-{{call}}">{{call}}</label><input id="limit-{{call}}" name="limit-{{call}}" value="{{calls}}" inputmode="numeric" aria-describedby="limit-{{call}}-hint"><span class="hint" id="limit-{{call}}-hint">{{hint}}</span></div>
{{/each}}</div></fieldset>
<button name="action" value="settings">Save</button>
</form>
<h2>Suspension</h2>
{{#if suspension}}<p class="problem">Nobody is let in since {{time suspension.since}}: {{suspension.reason}}</p>
<form method="post">{{> csrf}}<button name="action" value="resume">Let in again</button></form>
{{else}}<form class="fields narrow" method="post">{{> csrf}}<div class="field"><label for="reason">Reason</label><input id="reason" name="reason" required maxlength="1000"></div><button name="action" value="suspend" class="danger">Suspend</button></form>{{/if}}`);

/** For support: keys, secrets and switches of a tenant. */
@ApiExcludeController()
@Controller(`${TENANT_ROUTE}/settings`)
export class ConsoleSettingsController {
  constructor(
    private readonly pages: TenantPages,
    private readonly operations: OperationsCore,
  ) {}

  @Get()
  @ForRoles('support')
  async page(
    @ConsoleCall() call: ConsoleCall,
    @Param() parameters: TenantParameters,
  ): Promise<string> {
    return this.shown(call, await this.pages.scopeOf(parameters), {});
  }

  @Post()
  @HttpCode(200)
  @ForRoles('support')
  async change(
    @ConsoleCall() call: ConsoleCall,
    @Param() parameters: TenantParameters,
  ): Promise<string> {
    const scope = await this.pages.scopeOf(parameters);
    const action = call.form.text('action');
    if (action === 'rotate-key' || action === 'rotate-secret')
      return this.rotate(call, scope, action === 'rotate-key' ? 'key' : 'secret');
    if (action === 'suspend' || action === 'resume') return this.suspend(call, scope, action);
    const settings = settingsIn(call.form);
    const asked = { settings, seen: call.form.text('seen') };
    const outcome = await this.pages.recorded(call, [scope, 'tenant update'], (core) =>
      changeSettings(core, scope.tenant, asked),
    );
    if (outcome instanceof NotDone)
      return this.shown(call, scope, { problems: problemsOf(outcome), typed: settings });
    return redirected(call, `${tenantPath(scope)}/settings`);
  }

  private async rotate(call: ConsoleCall, scope: Scope, what: 'key' | 'secret'): Promise<string> {
    const graceMs = durationMs(call.form.text('grace'));
    if (graceMs === undefined)
      return this.shown(call, scope, { problems: ['Choose how long the one before is valid.'] });
    const asked = { what, graceMs, seen: call.form.text('seen') };
    const outcome = await this.pages.recorded(call, [scope, `tenant rotate-${what}`], (core) =>
      rotateOnRecord(core, scope, asked),
    );
    if (outcome instanceof NotDone)
      return this.shown(call, scope, { problems: problemsOf(outcome) });
    const { secret } = outcome;
    const issued = { what: what === 'key' ? 'API key' : 'signing secret', secret };
    return this.shown(call, scope, { issued });
  }

  private async suspend(
    call: ConsoleCall,
    scope: Scope,
    action: 'suspend' | 'resume',
  ): Promise<string> {
    const reason = action === 'suspend' ? call.form.text('reason') : null;
    const asked = { reason, by: call.operator.name };
    const outcome = await this.pages.recorded(call, [scope, `tenant ${action}`], (core) =>
      suspendOnRecord(core, scope.tenant, asked),
    );
    if (outcome instanceof NotDone)
      return this.shown(call, scope, { problems: problemsOf(outcome) });
    return redirected(call, `${tenantPath(scope)}/settings`);
  }

  private async shown(
    call: ConsoleCall,
    scope: Scope,
    {
      problems = [],
      issued = null,
      typed,
    }: {
      readonly problems?: readonly string[];
      readonly issued?: { readonly what: string; readonly secret: string } | null;
      readonly typed?: TenantSettings;
    },
  ): Promise<string> {
    if (problems.length > 0) void call.reply.code(400);
    const { core } = this.operations;
    const tenant = await core.tenants.read(scope.tenant);
    if (tenant === undefined) throw new ApiError('TENANT_NOT_FOUND');
    const { mode } = scope;
    const current = await settingsOf(core, tenant);
    const settings = typed ?? current;
    const [keys, secrets] = [keysOf(tenant, mode), signingSecretsOf(tenant, mode)];
    const { suspended } = tenant;
    return pageSent(call, { title: 'Settings', scope, section: '/settings' }, content, {
      problems,
      issued,
      mode,
      kinds: [
        {
          title: 'API keys',
          action: 'rotate-key',
          button: 'Rotate the API key',
          newest: keys[0]?.id ?? '',
          keys,
        },
        {
          title: 'Signing secrets of user tokens',
          action: 'rotate-secret',
          button: 'Rotate the signing secret',
          newest: secrets[0]?.id ?? '',
          keys: secrets,
        },
      ],
      seen: digestOfSettings(current),
      settings: {
        ...settings,
        origins: settings.allowedOrigins.join('\n'),
        addresses: settings.mailTestTo.join('\n'),
        isMinimal: settings.publicUser === 'minimal',
      },
      mails: MAIL_TYPES.map((type) => ({ type, isOn: settings.mail.includes(type) })),
      limits: limitsIn(settings),
      suspension: suspended && {
        since: new Date(suspended.since).toISOString(),
        reason: suspended.reason,
      },
    });
  }
}

const limitsIn = ({ rateLimits }: TenantSettings) =>
  COUNTED_CALLS.map((call) => {
    const { calls, windowSeconds } = CALL_WINDOWS[call];
    const hint = `in ${timeText(windowSeconds)}; ${calls} by default`;
    return { call, calls: rateLimits[call], hint };
  });

const settingsIn = (form: Form): TenantSettings => ({
  openEndpoints: form.text('openEndpoints') !== '',
  paymentProvider: form.text('paymentProvider') !== '',
  tokensMustExpire: form.text('tokensMustExpire') !== '',
  publicUser: form.text('minimal') === '' ? 'full' : 'minimal',
  allowedOrigins: linesOf(form.text('origins')),
  mail: [...form.all('mail')].sort(),
  mailTestTo: linesOf(form.text('addresses')),
  rateLimits: limitsOf((call) => form.text(`limit-${call}`) || String(CALL_WINDOWS[call].calls)),
  tokensNotBefore: form.text('tokensNotBefore'),
});

const linesOf = (text: string): readonly string[] =>
  text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
