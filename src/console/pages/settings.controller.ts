import { CALL_WINDOWS } from '../../domain/tenant/open-rules.js';
import type { OpenTenant } from '../../domain/tenant/tenant.decider.js';
import { CENTS } from '../../domain/tenant/unit-settings.js';
import { digestOf } from '../../foundation/canonical-json.js';
import { durationMs } from '../../foundation/duration.js';
import { NotDone, type Outcome } from '../../operations/outcome.js';
import {
  changeSettings,
  digestOfSettings,
  limitsOf,
  rotateWithAudit,
  settingsOf,
  suspendWithAudit,
  type TenantSettings,
} from '../../operations/tenants/tenant-settings.js';
import {
  changeClock,
  testClockOf,
  type ClockChange,
} from '../../operations/tenants/clock.operations.js';
import { changedUnits, changeFormats } from '../../operations/tenants/unit-settings.js';
import { badRequest } from '../../http/edge/api-error.js';
import { redirected, sendPage } from '../console-answers.js';
import { TenantCall } from '../console-call.js';
import { FormFor, PageFor, TenantPage } from '../console-routes.js';
import type { Form } from '../sessions/form.js';
import { faultAt, faultsOf, NO_FAULTS, type Faults } from '../view/faults.js';
import type { DoneKey } from '../view/layout.js';
import {
  ADVANCES,
  callLimits,
  credentialsOf,
  CURRENCY_OPTIONS,
  FIELDS_BY_LINES,
  GRACES,
  mailSwitches,
  modeIn,
  unitIn,
  unitRows,
} from '../view/settings-view.js';
import { template } from '../view/templates.js';
import { utcField } from '../view/utc-fields.js';
import { TenantPages } from './tenant-pages.js';
import { tenantNamed } from '../../operations/tenants/tenant-operation.js';

const content = template('settings');

/** What a refused form shows again, and what was issued. */
interface Shown {
  readonly faults?: Faults;
  readonly settings?: TypedSettings;
  /** The form with a confirmation that stays open. */
  readonly openForm?: string;
  readonly issued?: { readonly noun: string; readonly mode: string; readonly secret: string };
}

/** For support: keys, secrets, switches, units and the test clock of a tenant. */
@TenantPage('settings')
export class ConsoleSettingsController {
  constructor(private readonly pages: TenantPages) {}

  @FormFor('support')
  change(@TenantCall() call: TenantCall): Promise<string> {
    switch (call.form.text('action')) {
      case 'rotate':
        return this.rotate(call);
      case 'settings':
        return this.save(call);
      case 'units':
        return this.changeUnit(call);
      case 'advance':
        return this.moveClock(call, { advance: call.form.text('advance') });
      case 'set':
        return this.moveClock(call, { set: `${call.form.text('set')}Z` });
      case 'reset':
        return this.confirmed(call, 'reset', () => this.moveClock(call, { resetWithData: true }));
      case 'suspend':
        return this.confirmed(call, 'suspend', () => this.suspend(call, call.form.text('reason')));
      case 'resume':
        return this.suspend(call, null);
      default:
        throw badRequest('action: one of the buttons');
    }
  }

  private async save(call: TenantCall): Promise<string> {
    const settings = settingsIn(call.form);
    const asked = { settings, seen: call.form.text('seen') };
    const outcome = await this.pages.recorded(call, 'tenant update', (core, meta) =>
      changeSettings(core, meta, asked),
    );
    return this.answer(call, outcome, 'saved', { settings });
  }

  private async rotate(call: TenantCall): Promise<string> {
    const { form } = call;
    const what = form.text('what') === 'secret' ? 'secret' : 'key';
    const mode = modeIn(form.text('of')) ?? call.scope.mode;
    const graceMs = durationMs(form.text('grace'));
    if (graceMs === undefined) throw badRequest('grace: one of the choices');
    const openForm = `${what}-${mode}`;
    return this.confirmed(call, openForm, async () => {
      const ledger = await this.pages.core.tenants.ledger({ ...call.scope, mode });
      const asked = { what, graceMs, seen: form.text('seen') } as const;
      const outcome = await this.pages.recorded(
        { ...call, ledger },
        `tenant rotate-${what}`,
        (core, meta) => rotateWithAudit(core, meta, asked),
      );
      if (outcome instanceof NotDone) return this.page(call, { faults: faultsOf(outcome) });
      const noun = what === 'key' ? 'API key' : 'signing secret';
      return this.page(call, { issued: { noun, mode, secret: outcome.secret } });
    });
  }

  private async suspend(call: TenantCall, reason: string | null): Promise<string> {
    const outcome = await this.pages.recorded(
      call,
      reason === null ? 'tenant resume' : 'tenant suspend',
      (core, meta) => suspendWithAudit(core, meta, reason),
    );
    const done = reason === null ? 'resumed' : 'suspended';
    return this.answer(call, outcome, done, { openForm: 'suspend' });
  }

  private async moveClock(call: TenantCall, change: ClockChange): Promise<string> {
    const { scope } = call;
    if (scope.mode !== 'test') throw badRequest('action: the test clock is of test mode');
    const outcome = await this.pages.recorded(call, 'tenant clock', (core, meta) =>
      changeClock(core, meta, change),
    );
    return this.answer(call, outcome, change.resetWithData ? 'testDataRemoved' : 'clockMoved');
  }

  private async changeUnit(call: TenantCall): Promise<string> {
    const tenant = await tenantNamed(this.pages.core, call.scope.tenant);
    const typed = unitIn(call.form);
    if ('problems' in typed) return this.page(call, { faults: typed });
    if (digestOf(tenant.units) !== call.form.text('seen'))
      return this.page(call, { faults: faultAt('unit', UNITS_CHANGED) });
    return this.answer(call, await this.saveUnit(call, tenant, typed), 'saved');
  }

  private async saveUnit(
    call: TenantCall,
    tenant: OpenTenant,
    { format, limit }: Exclude<ReturnType<typeof unitIn>, Faults>,
  ): Promise<Outcome<unknown>> {
    const formats = changedUnits(tenant.units.formats, [format]);
    const grantLimits = changedUnits(tenant.units.grantLimits, [limit]);
    if (digestOf(formats) !== digestOf(tenant.units.formats)) {
      const outcome = await this.pages.recorded(call, 'tenant units', (core) =>
        changeFormats(core, tenant, formats),
      );
      if (outcome instanceof NotDone) return outcome;
    }
    const seen = digestOfSettings(await settingsOf(this.pages.core, tenant));
    return this.pages.recorded(call, 'tenant update', (core, meta) =>
      changeSettings(core, meta, { settings: { grantLimits }, seen }),
    );
  }

  /** Does what the operator has confirmed with the alias. */
  private confirmed(
    call: TenantCall,
    openForm: string,
    work: () => Promise<string>,
  ): Promise<string> {
    const { tenant } = call.scope;
    if (call.form.text('confirmed') === tenant) return work();
    const faults = faultAt(`confirmed-${openForm}`, `Type "${tenant}" to confirm.`);
    return this.page(call, { faults, openForm });
  }

  /** @param refused what the page shows apart from the faults. */
  private async answer(
    call: TenantCall,
    outcome: Outcome<unknown>,
    done: DoneKey,
    refused: Shown = {},
  ): Promise<string> {
    if (outcome instanceof NotDone)
      return this.page(call, { ...refused, faults: faultsOf(outcome, FIELDS_BY_LINES) });
    return redirected(call, `${call.tenantPath}/settings`, done);
  }

  @PageFor('support')
  async page(@TenantCall() call: TenantCall, of: Shown = {}): Promise<string> {
    const { core } = this.pages;
    const { form, scope } = call;
    const tenant = await tenantNamed(core, scope.tenant);
    const current = await settingsOf(core, tenant);
    const settings = { ...current, ...of.settings };
    const { faults = NO_FAULTS, openForm = '', issued = null } = of;
    const { suspended } = tenant;
    return sendPage(call, { of: 'settings', faults }, content, {
      alias: scope.tenant,
      issued,
      openForm,
      grace: form.text('grace'),
      graces: GRACES,
      keys: credentialsOf(tenant, 'key'),
      secrets: credentialsOf(tenant, 'secret'),
      seen: digestOfSettings(current),
      settings: {
        ...settings,
        notBefore: utcField(settings.tokensNotBefore),
        origins: settings.allowedOrigins.join('\n'),
        addresses: settings.mailTestTo.join('\n'),
        domains: settings.mailDomains.join('\n'),
        isMinimal: settings.publicUser === 'minimal',
      },
      mails: mailSwitches(settings.mail),
      limits: callLimits(settings),
      hasWrongLimit: Object.keys(faults.wrong).some((id) => id.startsWith('limit-')),
      units: unitRows(tenant.units).map((row) => ({ ...row, isCents: row.unit === CENTS })),
      unitsSeen: digestOf(tenant.units),
      currencies: CURRENCY_OPTIONS,
      isTest: scope.mode === 'test',
      testClock: testClockOf(tenant),
      advances: ADVANCES,
      typed: typedIn(form),
      suspension: suspended && {
        since: new Date(suspended.since).toISOString(),
        reason: suspended.reason,
      },
    });
  }
}

const UNITS_CHANGED = 'The units were changed after this page was opened: compare and save again.';

const typedIn = (form: Form) => ({
  unit: form.text('unit'),
  currency: form.text('currency'),
  digits: form.text('digits') || '2',
  limit: form.text('limit'),
  advance: form.text('advance') || '1d',
  set: form.text('set'),
  reason: form.text('reason'),
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
