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

const content = template('settings');

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
