import { Map } from 'immutable';
import { eventsIf, type Decision } from '../decision.js';
import type { Command, Fact } from '../fact.js';
import type { Personal } from '../personal.js';
import { refused } from '../refusal.js';
import type { Mode } from '../scope.js';
import {
  nameEventRules,
  rulesAfter,
  type KnownRules,
  type ProgramDocument,
} from './event-rules.js';
import {
  changeMailSettings,
  mailSettingsAfter,
  NO_MAILS,
  type ChangeMailSettings,
  type MailSettings,
  type MailSettingsChanged,
} from './mail-settings.js';
import { changedRules, DEFAULT_OPEN_RULES, type OpenRules } from './open-rules.js';
import {
  decideOnConnection,
  evolveConnections,
  keysAfter,
  type PaymentConnection,
  type PaymentConnectionCommand,
  type PaymentConnectionEvent,
  type ProviderKeys,
} from './payment-connections.js';
import { retire, secretIdOf, type Retirable } from './tenant-secrets.js';
import {
  decideOnTestClock,
  type MoveTestClock,
  type RemoveTestData,
  type TestClock,
  type TestClockMoved,
  type TestDataRemoved,
} from './test-clock.js';
import {
  changeUnitSettings,
  NO_UNIT_SETTINGS,
  type ChangeUnitSettings,
  type UnitSettings,
  type UnitSettingsChanged,
} from './unit-settings.js';
import {
  decideOnEndpoint,
  evolveEndpoints,
  type WebhookCommand,
  type WebhookEndpoint,
  type WebhookEvent,
} from './webhook-endpoints.js';
import { ownMember } from '../own-member.js';

export type ProgramType = 'API_ONLY' | 'PAYMENT_PROVIDER';

/** SHA-256 of the key, hex, and the encrypted key itself, which verifies user tokens. */
export interface ApiKey {
  readonly keyId: string;
  readonly mode: Mode;
  readonly hash: string;
  readonly sealed: string;
}

export interface SigningSecret {
  /** Missing: the one that the tenant was created with (see `secretIdOf`). */
  readonly secretId?: string;
  readonly mode: Mode;
  readonly sealed: string;
}

/** Both encrypted with the key of its author. */
export interface Suspension {
  readonly reason: Personal<string>;
  readonly by: Personal<string>;
}

export type { ProgramDocument };

export type TenantEvent =
  | Fact<'TenantCreated', { alias: string; programType: ProgramType; openEndpoints: boolean }>
  | Fact<'ApiKeyIssued', ApiKey>
  /** From `validUntil` on the key is refused. */
  | Fact<'ApiKeyRetired', { keyId: string; validUntil: number }>
  | Fact<'SigningSecretIssued', SigningSecret>
  /** From `validUntil` on it verifies no token. */
  | Fact<'SigningSecretRetired', { secretId: string; validUntil: number }>
  /** Credentials are refused until `TenantResumed`; the data stays. */
  | Fact<'TenantSuspended', Suspension>
  | Fact<'TenantResumed'>
  /** Tokens issued before, epoch milliseconds, are refused. Null: tokens of any age pass. */
  | Fact<'TokensNotBeforeChanged', { tokensNotBefore: number | null }>
  | Fact<'OpenEndpointsSwitched', { openEndpoints: boolean }>
  /** All rules after the change. */
  | Fact<'OpenRulesChanged', { rules: OpenRules }>
  | Fact<'ProgramTypeChanged', { programType: ProgramType }>
  | Fact<'ProgramApplied', Omit<AppliedProgram, 'knownRules'> & { isDefault: boolean }>
  | MailSettingsChanged
  | UnitSettingsChanged
  | TestClockMoved
  | TestDataRemoved
  | WebhookEvent
  | PaymentConnectionEvent;

export interface AppliedProgram {
  readonly version: number;
  readonly document: ProgramDocument;
  /** The names of the rules in `eventRewards`, in their order. */
  readonly eventRules: readonly string[];
  readonly knownRules: KnownRules;
}

export interface OpenTenant extends TestClock {
  readonly status: 'open';
  readonly alias: string;
  readonly createdAt: number;
  readonly programType: ProgramType;
  readonly openEndpoints: boolean;
  readonly openRules: OpenRules;
  readonly keys: readonly (ApiKey & Retirable)[];
  /** Oldest first. */
  readonly signingSecrets: readonly (Required<SigningSecret> & Retirable)[];
  /** Null: not suspended. */
  readonly suspended: { readonly since: number; readonly reason: string | null } | null;
  /** Epoch milliseconds; null: tokens of any age pass. */
  readonly tokensNotBefore: number | null;
  readonly programs: Readonly<Record<string, AppliedProgram>>;
  readonly defaultProgramId: string;
  readonly mails: MailSettings;
  readonly units: UnitSettings;
  /** In subscription order. */
  readonly webhooks: readonly WebhookEndpoint[];
  /** Oldest first, including those whose webhook secret still verifies. */
  readonly payments: readonly PaymentConnection[];
  readonly providerKeys: ProviderKeys;
}

export type TenantState = { readonly status: 'absent' } | OpenTenant;

export const initialState: TenantState = { status: 'absent' };

// eslint-disable-next-line max-lines-per-function -- a case for each type of event
export function evolve(state: TenantState, event: TenantEvent): TenantState {
  if (event.type === 'TenantCreated') {
    const { alias, programType, openEndpoints, at } = event;
    if (state.status === 'open') return state;
    return {
      status: 'open',
      alias,
      createdAt: at,
      programType,
      openEndpoints,
      openRules: DEFAULT_OPEN_RULES,
      keys: [],
      signingSecrets: [],
      suspended: null,
      tokensNotBefore: null,
      programs: {},
      defaultProgramId: '',
      mails: NO_MAILS,
      units: NO_UNIT_SETTINGS,
      testOffsetMs: null,
      testLedger: { number: 0, since: 0 },
      webhooks: [],
      payments: [],
      providerKeys: {},
    };
  }
  if (state.status === 'absent') return state;
  switch (event.type) {
    case 'ApiKeyIssued': {
      const { keyId, mode, hash, sealed } = event;
      const issued = { keyId, mode, hash, sealed, validUntil: null };
      return { ...state, keys: [...state.keys, issued] };
    }
    case 'ApiKeyRetired':
      return {
        ...state,
        keys: state.keys.map((key) =>
          key.keyId === event.keyId ? { ...key, validUntil: event.validUntil } : key,
        ),
      };
    case 'SigningSecretIssued': {
      const { mode, sealed } = event;
      const issued = { secretId: secretIdOf(event), mode, sealed, validUntil: null };
      return { ...state, signingSecrets: [...state.signingSecrets, issued] };
    }
    case 'SigningSecretRetired': {
      const { secretId, validUntil } = event;
      return {
        ...state,
        signingSecrets: state.signingSecrets.map((secret) =>
          secret.secretId === secretId ? { ...secret, validUntil } : secret,
        ),
      };
    }
    case 'TenantSuspended':
      return {
        ...state,
        suspended: { since: state.suspended?.since ?? event.at, reason: event.reason.value },
      };
    case 'TenantResumed':
      return { ...state, suspended: null };
    case 'TokensNotBeforeChanged':
      return { ...state, tokensNotBefore: event.tokensNotBefore };
    case 'OpenEndpointsSwitched':
      return { ...state, openEndpoints: event.openEndpoints };
    case 'MailSettingsChanged':
      return { ...state, mails: mailSettingsAfter(state.mails, event) };
    case 'UnitSettingsChanged': {
      const { formats, grantLimits } = event;
      return { ...state, units: { formats, grantLimits } };
    }
    case 'TestClockMoved':
      return { ...state, testOffsetMs: event.offsetMs };
    case 'TestDataRemoved': {
      const testLedger = { number: event.ledger, since: event.at };
      return { ...state, testOffsetMs: null, testLedger };
    }
    case 'OpenRulesChanged':
      return { ...state, openRules: event.rules };
    case 'ProgramTypeChanged':
      return { ...state, programType: event.programType };
    case 'ProgramApplied': {
      const { document, version, eventRules } = event;
      const before = ownMember(state.programs, document.id);
      const knownRules = rulesAfter(before?.knownRules ?? Map(), document, eventRules);
      const program = { version, document, eventRules, knownRules };
      return {
        ...state,
        programs: { ...state.programs, [document.id]: program },
        defaultProgramId: event.isDefault ? document.id : state.defaultProgramId,
      };
    }
    case 'WebhookSubscribed':
    case 'WebhookSecretIssued':
    case 'WebhookSecretRetired':
    case 'WebhookDisabled':
    case 'WebhookEnabled':
    case 'WebhookUnsubscribed':
      return { ...state, webhooks: evolveEndpoints(state.webhooks, event) };
    case 'PaymentProviderConnected':
    case 'PaymentProviderDisconnected': {
      const providerKeys = keysAfter(state.providerKeys, event);
      const payments = evolveConnections(state.payments, event, providerKeys);
      return { ...state, payments, providerKeys };
    }
  }
}

export type TenantCommand =
  | Command<
      'CreateTenant',
      {
        alias: string;
        programType: ProgramType;
        openEndpoints: boolean;
        keys: readonly ApiKey[];
        signingSecrets: readonly SigningSecret[];
        program: ProgramDocument;
      }
    >
  | Command<'SwitchOpenEndpoints', { openEndpoints: boolean }>
  /** Missing members keep their value; limits are merged. */
  | Command<'ChangeOpenRules', { changes: Partial<OpenRules> }>
  | Command<'ChangeProgramType', { programType: ProgramType }>
  /** New keys replace the old ones, which stay valid for `graceMs`. */
  | Command<'RotateKeys', { keys: readonly ApiKey[]; graceMs: number }>
  /** The same for signing secrets. */
  | Command<'RotateSigningSecrets', { secrets: readonly SigningSecret[]; graceMs: number }>
  | Command<'SuspendTenant', Suspension>
  | Command<'ResumeTenant'>
  | Command<'ChangeTokensNotBefore', { tokensNotBefore: number | null }>
  | Command<'ApplyProgram', { program: ProgramDocument }>
  | ChangeMailSettings
  | ChangeUnitSettings
  | MoveTestClock
  | RemoveTestData
  | WebhookCommand
  | PaymentConnectionCommand;

export function decide(state: TenantState, command: TenantCommand): Decision<TenantEvent> {
  if (command.type === 'CreateTenant')
    return state.status === 'absent' ? { events: created(command) } : refused('TENANT_EXISTS');
  if (state.status === 'absent') return refused('TENANT_NOT_FOUND');
  const { now: at } = command;
  switch (command.type) {
    case 'SwitchOpenEndpoints': {
      const { openEndpoints } = command;
      const changes = state.openEndpoints !== openEndpoints;
      return eventsIf(changes, { type: 'OpenEndpointsSwitched', at, openEndpoints });
    }
    case 'ChangeOpenRules': {
      const rules = changedRules(state.openRules, command.changes);
      const changes = JSON.stringify(rules) !== JSON.stringify(state.openRules);
      return eventsIf(changes, { type: 'OpenRulesChanged', at, rules });
    }
    case 'ChangeMailSettings':
      return { events: changeMailSettings(state.mails, command) };
    case 'ChangeUnitSettings':
      return { events: changeUnitSettings(state.units, command) };
    case 'MoveTestClock':
    case 'RemoveTestData':
      return decideOnTestClock(state, command);
    case 'ChangeProgramType': {
      const { programType } = command;
      return eventsIf(state.programType !== programType, {
        type: 'ProgramTypeChanged',
        at,
        programType,
      });
    }
    case 'RotateKeys':
      return { events: rotatedKeys(state, command) };
    case 'RotateSigningSecrets':
      return { events: rotatedSecrets(state, command) };
    case 'SuspendTenant': {
      const { reason, by } = command;
      const changes = state.suspended === null || state.suspended.reason !== reason.value;
      return eventsIf(changes, { type: 'TenantSuspended', at, reason, by });
    }
    case 'ResumeTenant':
      return eventsIf(state.suspended !== null, { type: 'TenantResumed', at });
    case 'ChangeTokensNotBefore': {
      const { tokensNotBefore } = command;
      const changes = state.tokensNotBefore !== tokensNotBefore;
      return eventsIf(changes, { type: 'TokensNotBeforeChanged', at, tokensNotBefore });
    }
    case 'ApplyProgram':
      return { events: applied(state, command.program, at) };
    case 'SubscribeWebhook':
    case 'RotateWebhookSecret':
    case 'DisableWebhook':
    case 'EnableWebhook':
    case 'UnsubscribeWebhook':
      return decideOnEndpoint(state.webhooks, command);
    case 'ConnectPaymentProvider':
    case 'DisconnectPaymentProvider':
      return decideOnConnection(state.payments, command);
  }
}

function created(command: Extract<TenantCommand, { type: 'CreateTenant' }>): TenantEvent[] {
  const { alias, programType, openEndpoints, program, now: at } = command;
  return [
    { type: 'TenantCreated', at, alias, programType, openEndpoints },
    ...command.keys.map((key): TenantEvent => ({ type: 'ApiKeyIssued', at, ...key })),
    ...command.signingSecrets.map((secret): TenantEvent => ({
      type: 'SigningSecretIssued',
      at,
      ...secret,
    })),
    {
      type: 'ProgramApplied',
      at,
      version: 1,
      isDefault: true,
      document: program,
      eventRules: nameEventRules(program, undefined),
    },
  ];
}

function rotatedKeys(
  state: OpenTenant,
  { keys, graceMs, now: at }: Extract<TenantCommand, { type: 'RotateKeys' }>,
): TenantEvent[] {
  const validUntil = at + graceMs;
  const retired = retire(state.keys, keys, validUntil);
  return [
    ...keys.map((key): TenantEvent => ({ type: 'ApiKeyIssued', at, ...key })),
    ...retired.map(({ keyId }): TenantEvent => ({ type: 'ApiKeyRetired', at, keyId, validUntil })),
  ];
}

function rotatedSecrets(
  state: OpenTenant,
  { secrets, graceMs, now: at }: Extract<TenantCommand, { type: 'RotateSigningSecrets' }>,
): TenantEvent[] {
  const validUntil = at + graceMs;
  const retired = retire(state.signingSecrets, secrets, validUntil);
  return [
    ...secrets.map((secret): TenantEvent => ({ type: 'SigningSecretIssued', at, ...secret })),
    ...retired.map(({ secretId }): TenantEvent => ({
      type: 'SigningSecretRetired',
      at,
      secretId,
      validUntil,
    })),
  ];
}

/** An unchanged document keeps the version of its terms. */
function applied(state: OpenTenant, document: ProgramDocument, at: number): TenantEvent[] {
  const before = ownMember(state.programs, document.id);
  const isDefault = document['default'] === true || document.id === state.defaultProgramId;
  const isSame =
    before !== undefined && JSON.stringify(before.document) === JSON.stringify(document);
  if (isSame && isDefault === (document.id === state.defaultProgramId)) return [];
  const version = isSame ? before.version : (before?.version ?? 0) + 1;
  const eventRules = isSame ? before.eventRules : nameEventRules(document, before);
  return [{ type: 'ProgramApplied', at, version, isDefault, document, eventRules }];
}
