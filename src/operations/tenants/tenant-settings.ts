import { isoOrNull } from '../../foundation/instant.js';
import type { Core } from '../../stores/core.js';
import { modeOf, type Mode } from '../../domain/scope.js';
import {
  CALL_WINDOWS,
  COUNTED_CALLS,
  PUBLIC_USERS,
  publicUserOf,
  type CountedCall,
  type PublicUser,
} from '../../domain/tenant/open-rules.js';
import type { GrantLimit } from '../../domain/tenant/unit-settings.js';
import type { OpenTenant, TenantCommand } from '../../domain/tenant/tenant.decider.js';
import { digestOf } from '../../foundation/canonical-json.js';
import { refused, type Refused } from '../../domain/refusal.js';
import { timeNow } from '../../foundation/world.js';
import { isMailAddress, isMailDomain, MAIL_DOMAINS_MAX } from '../../foundation/mail-address.js';
import { TEST_ADDRESSES_MAX } from '../../mails/settings/test-addresses.js';
import { isMailType, MAIL_TYPES } from '../../themes/theme-instance.js';
import { changedMeanwhile } from '../accounts/last-change.js';
import { staffSays, type StaffMeta } from '../audit.js';
import type { Done } from '../audited.js';
import { timeOf } from '../ledger/ledger-selection.js';
import { tenantNamed } from './tenant-operation.js';
import { settingsDocument, type TenantSettingsDocument } from './tenant-document.js';
import { decided, NotDone, notDone, outcomeOf } from '../outcome.js';

/** The switches of a tenant, for both of its modes. */
export interface TenantSettings {
  readonly openEndpoints: boolean;
  /** Accounts come from a payment provider. */
  readonly paymentProvider: boolean;
  readonly tokensMustExpire: boolean;
  readonly publicUser: PublicUser;
  /** Empty: pages of every origin read the open endpoints. */
  readonly allowedOrigins: readonly string[];
  /** Types of mails that go out. */
  readonly mail: readonly string[];
  /** Where the test mode may send. */
  readonly mailTestTo: readonly string[];
  /** The domains that mails may name as their sender. */
  readonly mailDomains: readonly string[];
  /** What one operator of support may grant to an account in 24 hours, by unit. */
  readonly grantLimits: readonly GrantLimit[];
  /** Calls of a client in a window, as texts: whole numbers. */
  readonly rateLimits: Readonly<Record<CountedCall, string>>;
  /** User tokens issued before are refused: ISO 8601; empty: of any age. */
  readonly tokensNotBefore: string;
}

type SettingsCore = Pick<
  Core,
  'tenants' | 'tenantCommands' | 'mailTestAddresses' | 'log' | 'codec' | 'names'
>;

/** The facts of a change of the settings. */
const CHANGES: ReadonlySet<string> = new Set([
  'OpenEndpointsSwitched',
  'OpenRulesChanged',
  'ProgramTypeChanged',
  'TokensNotBeforeChanged',
  'MailSettingsChanged',
  'UnitSettingsChanged',
]);

const ORIGINS_MAX = 100;

export async function settingsOf(
  { mailTestAddresses }: Pick<Core, 'mailTestAddresses'>,
  tenant: OpenTenant,
): Promise<TenantSettings> {
  const { openRules } = tenant;
  return {
    openEndpoints: tenant.openEndpoints,
    paymentProvider: tenant.programType === 'PAYMENT_PROVIDER',
    tokensMustExpire: openRules.tokensMustExpire,
    publicUser: publicUserOf(openRules),
    allowedOrigins: openRules.allowedOrigins,
    mail: Object.keys(tenant.mails.types).sort(),
    mailTestTo: await mailTestAddresses.of(tenant),
    mailDomains: tenant.mails.domains,
    grantLimits: tenant.units.grantLimits,
    rateLimits: limitsOf((call) => String(openRules.rateLimits[call] ?? CALL_WINDOWS[call].calls)),
    tokensNotBefore: isoOrNull(tenant.tokensNotBefore) ?? '',
  };
}

/** A text for each kind of call. */
export const limitsOf = (
  text: (call: CountedCall) => string,
): Readonly<Record<CountedCall, string>> =>
  Object.fromEntries(COUNTED_CALLS.map((call) => [call, text(call)])) as Record<
    CountedCall,
    string
  >;

/** Identifies the settings that an operator saw: other settings have another digest. */
export const digestOfSettings = (settings: TenantSettings): string => digestOf(settings);

/** Those of a mode that are valid, newest first. */
const valid = <K extends { readonly mode: Mode; readonly validUntil: number | null }>(
  keys: readonly K[],
  mode: Mode,
  now: number,
) =>
  keys
    .filter((key) => key.mode === mode && (key.validUntil === null || key.validUntil > now))
    .map(({ validUntil, ...key }) => ({
      ...key,
      /** ISO 8601; null: until it is rotated. */
      validUntil: isoOrNull(validUntil),
    }))
    .reverse();

export const keysOf = ({ keys }: OpenTenant, mode: Mode, now = timeNow()) =>
  valid(keys, mode, now).map(({ keyId: id, validUntil }) => ({ id, validUntil }));

export const signingSecretsOf = ({ signingSecrets }: OpenTenant, mode: Mode, now = timeNow()) =>
  valid(signingSecrets, mode, now).map(({ secretId: id, validUntil }) => ({ id, validUntil }));

/**
 * Changes what differs. Refused with one line for each fault, and when others changed the settings
 * that the operator saw.
 * @param seen their digest.
 */
export async function changeSettings(
  core: SettingsCore,
  { scope: { tenant: alias }, actor }: StaffMeta,
  {
    settings: changes,
    seen,
  }: { readonly settings: Partial<TenantSettings>; readonly seen: string },
): Promise<Done<TenantSettings>> {
  const tenant = await tenantNamed(core, alias);
  const before = await settingsOf(core, tenant);
  const settings = { ...before, ...changes };
  const faults = await faultsOf(settings);
  if (faults.length > 0) throw notDone(...faults);
  if (digestOfSettings(before) !== seen) {
    const changes = { stream: core.names.tenantStream(alias), types: CHANGES, isOne: () => true };
    const { code, reasons } = await changedMeanwhile(core, changes, 'the settings');
    throw new NotDone(code, [...reasons, ...differencesOf(settings, before)]);
  }
  const commands = await commandsOf(core, alias, { before, after: settings });
  let known = seen;
  for (const command of commands) {
    const seenBefore = known;
    const changed = decided(
      await core.tenantCommands
        .by(actor)
        .execute(alias, command, async (current) =>
          digestOfSettings(await settingsOf(core, current)) === seenBefore
            ? undefined
            : changedBefore('the settings'),
        ),
    );
    known = digestOfSettings(await settingsOf(core, changed));
  }
  // Addresses are those of people: the audit event names the kinds of changes.
  const parameters = { changes: commands.map(({ type }) => type).join(', ') };
  return { result: settings, parameters, digest: 'settings', completed: 'settings are changed' };
}

/**
 * A new API key or signing secret of a mode; the one before is valid for the grace period.
 * @param seen the id of the newest one that the operator saw: another one now is refused, so that a
 * form that is sent twice rotates once. Undefined: the command line shows none.
 */
export async function rotateWithAudit(
  core: SettingsCore,
  { scope, actor }: StaffMeta,
  {
    what,
    graceMs,
    seen,
  }: {
    readonly what: 'key' | 'secret';
    readonly graceMs: number;
    readonly seen?: string | undefined;
  },
): Promise<Done<{ readonly secret: string }>> {
  const { tenant: alias } = scope;
  const mode = modeOf(scope.mode);
  const idsOf = what === 'key' ? keysOf : signingSecretsOf;
  const unless = async (current: OpenTenant): Promise<Refused | undefined> =>
    seen === undefined || idsOf(current, mode)[0]?.id === seen
      ? undefined
      : changedBefore(what === 'key' ? 'the API key' : 'the signing secret');
  const commands = core.tenantCommands.by(actor);
  const rotated =
    what === 'key'
      ? await commands.rotateKeys(alias, [mode], graceMs, unless)
      : await commands.rotateSigningSecrets(alias, [mode], graceMs, unless);
  const secret = decided(rotated)[mode];
  if (secret === undefined) throw new Error('a rotation makes no secret');
  const completed = `${alias} has a new ${what === 'key' ? 'API key' : 'signing secret'}`;
  return { result: { secret }, parameters: { graceMs }, digest: 'secret', completed };
}

/** Refuses every request of a tenant, or serves it again. @param reason null: it is served. */
export async function suspendWithAudit(
  core: SettingsCore,
  meta: StaffMeta,
  reason: string | null,
): Promise<Done<TenantSettingsDocument>> {
  const now = timeNow();
  const { tenant: alias } = meta.scope;
  if (reason !== null && (reason.trim() === '' || [...reason].length > REASON_MAX))
    throw notDone(`the reason takes 1 to ${REASON_MAX} characters`);
  const command: TenantCommand =
    reason === null
      ? { type: 'ResumeTenant', now }
      : {
          type: 'SuspendTenant',
          reason: staffSays(meta, reason),
          by: meta.actor.name,
          now,
        };
  const changed = decided(await core.tenantCommands.by(meta.actor).execute(alias, command));
  const completed = `${alias} is ${changed.suspended === null ? 'open again' : 'suspended'}`;
  const result = await settingsDocument(core, changed);
  return { result, parameters: {}, digest: 'settings', completed };
}

const REASON_MAX = 1_000;

const changedBefore = (what: string): Refused => refused('CHANGED_MEANWHILE', changedText(what));

const changedText = (what: string): string =>
  `${what} was changed after this form was opened: open the page again`;

const LABELS: Readonly<Record<keyof TenantSettings, string>> = {
  openEndpoints: 'Open endpoints',
  paymentProvider: 'Payment provider',
  tokensMustExpire: 'User tokens must expire',
  publicUser: 'Public user',
  allowedOrigins: 'Allowed origins',
  mail: 'Mails that go out',
  mailTestTo: 'Mails of the test mode go to',
  mailDomains: 'Domains of senders',
  grantLimits: 'Grants of support',
  rateLimits: 'Calls of a client',
  tokensNotBefore: 'User tokens not before',
};

/** What is otherwise now than an operator wants it. */
const differencesOf = (wanted: TenantSettings, now: TenantSettings): readonly string[] =>
  (Object.keys(LABELS) as (keyof TenantSettings)[])
    .filter((name) => digestOf(wanted[name]) !== digestOf(now[name]))
    .map((name) => `${LABELS[name]}: ${inWords(now[name])} by now`);

function inWords(value: TenantSettings[keyof TenantSettings]): string {
  if (typeof value === 'boolean') return value ? 'on' : 'off';
  if (typeof value === 'string') return value || 'none';
  const items = isList(value)
    ? value.map((item) => (typeof item === 'string' ? item : `${item.unit} ${item.amount}`))
    : Object.entries(value).map(([call, calls]) => `${call} ${calls}`);
  return items.join(', ') || 'none';
}

const isList = (value: object): value is readonly (string | GrantLimit)[] => Array.isArray(value);

async function commandsOf(
  { mailTestAddresses }: Pick<Core, 'mailTestAddresses'>,
  alias: string,
  { before, after }: { readonly before: TenantSettings; readonly after: TenantSettings },
): Promise<readonly TenantCommand[]> {
  const now = timeNow();
  const differs = (...names: readonly (keyof TenantSettings)[]): boolean =>
    names.some((name) => digestOf(before[name]) !== digestOf(after[name]));
  const commands: TenantCommand[] = [];
  const { openEndpoints, tokensMustExpire, publicUser, allowedOrigins } = after;
  const changedCalls = COUNTED_CALLS.filter(
    (call) => Number(before.rateLimits[call]) !== Number(after.rateLimits[call]),
  );
  if (differs('openEndpoints')) commands.push({ type: 'SwitchOpenEndpoints', openEndpoints, now });
  if (differs('tokensMustExpire', 'publicUser', 'allowedOrigins') || changedCalls.length > 0) {
    const rateLimits = Object.fromEntries(
      changedCalls.map((call) => [call, Number(after.rateLimits[call])]),
    );
    const changes = { tokensMustExpire, publicUser, allowedOrigins, rateLimits };
    commands.push({ type: 'ChangeOpenRules', changes, now });
  }
  const [tokensNotBefore, stood] = [after, before].map((one) => tokenTimeOf(one, now) ?? null);
  if (tokensNotBefore !== stood)
    commands.push({
      type: 'ChangeTokensNotBefore',
      tokensNotBefore: tokensNotBefore ?? null,
      now,
    });
  if (differs('paymentProvider')) {
    const programType = after.paymentProvider ? 'PAYMENT_PROVIDER' : 'API_ONLY';
    commands.push({ type: 'ChangeProgramType', programType, now });
  }
  if (differs('mail', 'mailTestTo', 'mailDomains')) {
    const testTo = await mailTestAddresses.sealed(alias, after.mailTestTo);
    const { mail: types, mailDomains: domains } = after;
    commands.push({ type: 'ChangeMailSettings', types, testTo, domains, now });
  }
  if (differs('grantLimits'))
    commands.push({ type: 'ChangeUnitSettings', grantLimits: after.grantLimits, now });
  return commands;
}

/** Epoch milliseconds; undefined: none is named. */
const tokenTimeOf = (
  { tokensNotBefore }: Pick<TenantSettings, 'tokensNotBefore'>,
  now: number,
): number | undefined =>
  timeOf('tokensNotBefore', tokensNotBefore === '' ? undefined : tokensNotBefore, now);

async function faultsOf(settings: TenantSettings): Promise<readonly string[]> {
  const { allowedOrigins, mail, mailTestTo, mailDomains, publicUser, rateLimits } = settings;
  const faults: string[] = [];
  for (const call of COUNTED_CALLS)
    if (!/^\d{1,9}$/.test(rateLimits[call]))
      faults.push(`calls of a client, ${call}: a whole number of at most nine digits`);
  const time = await outcomeOf(() => tokenTimeOf(settings, timeNow()));
  if (time instanceof NotDone) faults.push(`user tokens not before: ${time.text(() => 'it')}`);
  if (allowedOrigins.length > ORIGINS_MAX || !allowedOrigins.every(isOrigin))
    faults.push(`allowed origins: up to ${ORIGINS_MAX} such as https://shop.example, one a line`);
  if (!mail.every(isMailType)) faults.push(`mails: types of ${MAIL_TYPES.join(', ')}`);
  if (mailTestTo.length > TEST_ADDRESSES_MAX || !mailTestTo.every(isMailAddress))
    faults.push(`mails of the test mode: up to ${TEST_ADDRESSES_MAX} e-mail addresses, one a line`);
  if (mailDomains.length > MAIL_DOMAINS_MAX || !mailDomains.every(isMailDomain))
    faults.push(`domains of senders: up to ${MAIL_DOMAINS_MAX} such as shop.example, one a line`);
  if (!PUBLIC_USERS.includes(publicUser))
    faults.push(`public user: one of ${PUBLIC_USERS.join(', ')}`);
  return faults;
}

/** As browsers send it. */
export const isOrigin = (origin: string): boolean =>
  /^https?:\/\//.test(origin) && URL.canParse(origin) && new URL(origin).origin === origin;
