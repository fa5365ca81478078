import { CALL_WINDOWS, COUNTED_CALLS } from '../../domain/tenant/open-rules.js';
import { durationMs } from '../../foundation/duration.js';
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
} from '../../operations/tenants/tenant-settings.js';
import { MAIL_TYPES } from '../../themes/theme-instance.js';
import { ApiError } from '../../http/edge/api-error.js';
import { FormFor, PageFor, pageSent, redirected, TenantCall, TenantPage } from '../console-call.js';
import type { Form } from '../sessions/form.js';
import { TEXTS } from '../texts.js';
import { faultAt, faultsOf, type FieldNames, type Faults } from '../view/faults.js';
import { timeText } from '../view/run-view.js';
import { template } from '../view/templates.js';
import { TenantPages } from './tenant-pages.js';
import { NotDone } from '../../operations/outcome.js';

const content = template(`
{{#if issued}}<div class="done" role="status"><p>${TEXTS.settings.issued('{{issued.what}}')}</p><p><code class="secret" data-figure="secret" data-value="{{issued.secret}}" tabindex="0">{{issued.secret}}</code></p></div>{{/if}}
<h2>${TEXTS.settings.keysOf('{{mode}}')}</h2>
{{#each kinds}}<h3>{{title}}</h3>
<div class="scroll" tabindex="0"><table><thead><tr><th scope="col">${TEXTS.settings.id}</th><th scope="col">${TEXTS.settings.validUntil}</th></tr></thead>
<tbody>{{#each keys}}<tr><td class="id">{{id}}</td><td>{{#if validUntil}}{{time validUntil}}{{else}}${TEXTS.settings.nextRotation}{{/if}}</td></tr>
{{/each}}</tbody></table></div>
<form class="actions" method="post">{{> csrf}}<input type="hidden" name="seen" value="{{newest}}">
<label for="grace-{{action}}">${TEXTS.settings.grace}</label><select id="grace-{{action}}" name="grace" class="short"><option value="24h">${TEXTS.common.graceDay}</option><option value="7d">${TEXTS.common.graceWeek}</option><option value="1h">${TEXTS.common.graceHour}</option><option value="0">${TEXTS.common.graceNone}</option></select>
<button name="action" value="{{action}}">{{button}}</button></form>
{{/each}}
<h2>${TEXTS.settings.switches}</h2>
<form method="post">{{> csrf}}<input type="hidden" name="seen" value="{{seen}}">
<div class="fields">
<div class="tick"><input type="checkbox" id="open" name="openEndpoints"{{#if settings.openEndpoints}} checked{{/if}}><label for="open">${TEXTS.settings.open}</label><span class="hint">${TEXTS.settings.openHint}</span></div>
<div class="tick"><input type="checkbox" id="provider" name="paymentProvider"{{#if settings.paymentProvider}} checked{{/if}}><label for="provider">${TEXTS.settings.provider}</label><span class="hint">${TEXTS.settings.providerHint}</span></div>
<div class="tick"><input type="checkbox" id="expiry" name="tokensMustExpire"{{#if settings.tokensMustExpire}} checked{{/if}}><label for="expiry">${TEXTS.settings.expiry}</label><span class="hint">${TEXTS.settings.expiryHint}</span></div>
<div class="tick"><input type="checkbox" id="minimal" name="minimal"{{#if settings.isMinimal}} checked{{/if}}><label for="minimal">${TEXTS.settings.minimal}</label><span class="hint">${TEXTS.settings.minimalHint}</span></div>
</div>
<fieldset><legend>${TEXTS.settings.mails}</legend><div class="fields broad">{{#each mails}}<div class="tick"><input type="checkbox" id="mail-{{type}}" name="mail" value="{{type}}"{{#if isOn}} checked{{/if}}><label for="mail-{{type}}">{{type}}</label></div>{{/each}}</div></fieldset>
<div class="fields broad">
{{formField 'addresses' label="${TEXTS.settings.addresses}" rows="3" value=settings.addresses hint="${TEXTS.settings.addressesHint}"}}
{{formField 'domains' label="${TEXTS.settings.domains}" rows="3" value=settings.domains hint="${TEXTS.settings.domainsHint}"}}
{{formField 'not-before' label="${TEXTS.settings.notBefore}" name="tokensNotBefore" value=settings.tokensNotBefore placeholder="${TEXTS.settings.anyAge}" hint="${TEXTS.settings.notBeforeHint}"}}
{{formField 'origins' label="${TEXTS.settings.origins}" rows="3" value=settings.origins hint="${TEXTS.settings.originsHint}"}}
</div>
<fieldset><legend>${TEXTS.settings.limits}</legend><div class="fields">{{#each limits}}{{formField id label=call value=calls inputmode="numeric" hint=hint}}
{{/each}}</div></fieldset>
<button name="action" value="settings">${TEXTS.settings.save}</button>
</form>
<h2>${TEXTS.settings.suspension}</h2>
{{#if suspension}}<p class="problem">${TEXTS.settings.suspended('{{time suspension.since}}', '{{suspension.reason}}')}</p>
<form method="post">{{> csrf}}<button name="action" value="resume">${TEXTS.settings.resume}</button></form>
{{else}}<form class="fields narrow" method="post">{{> csrf}}{{formField 'reason' label="${TEXTS.fields.reason}" value=reason required=true maxlength="1000"}}<button name="action" value="suspend" class="danger">${TEXTS.settings.suspend}</button></form>{{/if}}`);

/** For support: keys, secrets and switches of a tenant. */
@TenantPage('settings')
export class ConsoleSettingsController {
  constructor(private readonly pages: TenantPages) {}

  @PageFor('support')
  page(@TenantCall() call: TenantCall): Promise<string> {
    return this.shown(call);
  }

  @FormFor('support')
  async change(@TenantCall() call: TenantCall): Promise<string> {
    const action = call.form.text('action');
    if (action === 'rotate-key' || action === 'rotate-secret')
      return this.rotate(call, action === 'rotate-key' ? 'key' : 'secret');
    if (action === 'suspend' || action === 'resume') return this.suspend(call, action);
    const settings = settingsIn(call.form);
    const asked = { settings, seen: call.form.text('seen') };
    const outcome = await this.pages.recorded(call, 'tenant update', (core, meta) =>
      changeSettings(core, meta, asked),
    );
    if (outcome instanceof NotDone) return this.shown(call, faultsOf(outcome, BY_LINES), settings);
    return redirected(call, `${call.tenantPath}/settings`, 'saved');
  }

  private async rotate(call: TenantCall, what: 'key' | 'secret'): Promise<string> {
    const graceMs = durationMs(call.form.text('grace'));
    if (graceMs === undefined) return this.shown(call, faultAt(null, TEXTS.settings.graceMissing));
    const asked = { what, graceMs, seen: call.form.text('seen') };
    const outcome = await this.pages.recorded(call, `tenant rotate-${what}`, (core, meta) =>
      rotateOnRecord(core, meta, asked),
    );
    if (outcome instanceof NotDone) return this.shown(call, faultsOf(outcome));
    const { secret } = outcome;
    const issued = what === 'key' ? TEXTS.settings.apiKey : TEXTS.settings.signingSecret;
    return this.shown(call, undefined, undefined, { what: issued, secret });
  }

  private async suspend(call: TenantCall, action: 'suspend' | 'resume'): Promise<string> {
    const reason = action === 'suspend' ? call.form.text('reason') : null;
    const outcome = await this.pages.recorded(call, `tenant ${action}`, (core, meta) =>
      suspendOnRecord(core, meta, reason),
    );
    if (outcome instanceof NotDone)
      return this.shown(call, faultsOf(outcome, { 'the reason ': 'reason' }));
    const done = action === 'suspend' ? 'suspended' : 'resumed';
    return redirected(call, `${call.tenantPath}/settings`, done);
  }

  private async shown(
    call: TenantCall,
    faults?: Faults,
    typed?: TypedSettings,
    issued: { readonly what: string; readonly secret: string } | null = null,
  ): Promise<string> {
    const { core } = this.pages;
    const tenant = await core.tenants.read(call.scope.tenant);
    if (tenant === undefined) throw new ApiError('TENANT_NOT_FOUND');
    const { mode } = call.scope;
    const current = await settingsOf(core, tenant);
    const settings = { ...current, ...typed };
    const [keys, secrets] = [keysOf(tenant, mode), signingSecretsOf(tenant, mode)];
    const { suspended } = tenant;
    return pageSent(call, { of: 'settings', faults }, content, {
      reason: call.form.text('reason'),
      issued,
      mode,
      kinds: kindsOf(keys, secrets),
      seen: digestOfSettings(current),
      settings: {
        ...settings,
        origins: settings.allowedOrigins.join('\n'),
        addresses: settings.mailTestTo.join('\n'),
        domains: settings.mailDomains.join('\n'),
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

const kindsOf = (keys: readonly ShownKey[], secrets: readonly ShownKey[]) => [
  {
    title: TEXTS.settings.apiKeys,
    action: 'rotate-key',
    button: TEXTS.settings.rotateKey,
    newest: keys[0]?.id ?? '',
    keys,
  },
  {
    title: TEXTS.settings.signingSecrets,
    action: 'rotate-secret',
    button: TEXTS.settings.rotateSecret,
    newest: secrets[0]?.id ?? '',
    keys: secrets,
  },
];

/** By the beginnings of the lines of `changeSettings`. */
const BY_LINES: FieldNames = {
  'allowed origins:': 'origins',
  'mails of the test mode:': 'addresses',
  'domains of senders:': 'domains',
  'user tokens not before:': 'not-before',
  ...Object.fromEntries(
    COUNTED_CALLS.map((call) => [`calls of a client, ${call}:`, `limit-${call}`]),
  ),
};

const limitsIn = ({ rateLimits }: TenantSettings) =>
  COUNTED_CALLS.map((call) => {
    const { calls, windowSeconds } = CALL_WINDOWS[call];
    const hint = TEXTS.settings.limitHint(timeText(windowSeconds), calls);
    return { id: `limit-${call}`, call, calls: rateLimits[call], hint };
  });

type TypedSettings = Omit<TenantSettings, 'grantLimits'>;

const settingsIn = (form: Form): TypedSettings => ({
  openEndpoints: form.text('openEndpoints') !== '',
  paymentProvider: form.text('paymentProvider') !== '',
  tokensMustExpire: form.text('tokensMustExpire') !== '',
  publicUser: form.text('minimal') === '' ? 'full' : 'minimal',
  allowedOrigins: linesOf(form.text('origins')),
  mail: [...form.all('mail')].sort(),
  mailTestTo: linesOf(form.text('addresses')),
  mailDomains: linesOf(form.text('domains'))
    .map((domain) => domain.toLowerCase())
    .sort(),
  rateLimits: limitsOf((call) => form.text(`limit-${call}`) || String(CALL_WINDOWS[call].calls)),
  tokensNotBefore: form.text('tokensNotBefore'),
});

const linesOf = (text: string): readonly string[] =>
  text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
