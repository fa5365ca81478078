import { Map } from 'immutable';
import type { Decision } from '../decision.js';
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

/**
 * A tenant: its keys, its switches, its programs. Secrets arrive encrypted; a key is identified by
 * its hash.
 */
export type ProgramType = 'API_ONLY' | 'PAYMENT_PROVIDER';

/** SHA-256 of the key, hex, and the key itself encrypted: it verifies user tokens. */
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
  | {
      readonly type: 'TenantCreated';
      readonly at: number;
      readonly alias: string;
      readonly programType: ProgramType;
      readonly openEndpoints: boolean;
    }
  | ({ readonly type: 'ApiKeyIssued'; readonly at: number } & ApiKey)
  /** From `validUntil` on the key is refused. */
  | {
      readonly type: 'ApiKeyRetired';
      readonly at: number;
      readonly keyId: string;
      readonly validUntil: number;
    }
  | ({ readonly type: 'SigningSecretIssued'; readonly at: number } & SigningSecret)
  /** From `validUntil` on it verifies no token. */
  | {
      readonly type: 'SigningSecretRetired';
      readonly at: number;
      readonly secretId: string;
      readonly validUntil: number;
    }
  /** Nobody is let in until `TenantResumed`; the data stay. */
  | ({ readonly type: 'TenantSuspended'; readonly at: number } & Suspension)
  | { readonly type: 'TenantResumed'; readonly at: number }
  /** Tokens issued before, epoch milliseconds, are refused. Null: tokens of any age pass. */
  | {
      readonly type: 'TokensNotBeforeChanged';
      readonly at: number;
      readonly tokensNotBefore: number | null;
    }
  | { readonly type: 'OpenEndpointsSwitched'; readonly at: number; readonly openEndpoints: boolean }
  /** All rules after the change. */
  | { readonly type: 'OpenRulesChanged'; readonly at: number; readonly rules: OpenRules }
  | { readonly type: 'ProgramTypeChanged'; readonly at: number; readonly programType: ProgramType }
  | {
      readonly type: 'ProgramApplied';
      readonly at: number;
      readonly version: number;
      readonly isDefault: boolean;
      readonly document: ProgramDocument;
      /** The names of the rules in `eventRewards`, in their order. */
      readonly eventRules: readonly string[];
    }
  | MailSettingsChanged
  | UnitSettingsChanged
  | WebhookEvent
  | PaymentConnectionEvent;

export interface AppliedProgram {
  readonly version: number;
  readonly document: ProgramDocument;
  /** The names of the rules in `eventRewards`, in their order. */
  readonly eventRules: readonly string[];
  readonly knownRules: KnownRules;
}

export interface OpenTenant {
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
  /** In the order of their subscription. */
  readonly webhooks: readonly WebhookEndpoint[];
  /** Oldest first, with those whose webhook secret still verifies. */
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
      webhooks: [],
      payments: [],
      providerKeys: {},
    };
  }
  if (state.status === 'absent') return state;
  switch (event.type) {
    case 'ApiKeyIssued':
      return {
        ...state,
        keys: [
          ...state.keys,
          {
            keyId: event.keyId,
            mode: event.mode,
            hash: event.hash,
            sealed: event.sealed,
            validUntil: null,
          },
        ],
      };
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
    case 'OpenRulesChanged':
      return { ...state, openRules: event.rules };
    case 'ProgramTypeChanged':
      return { ...state, programType: event.programType };
    case 'ProgramApplied': {
      const { document, version, eventRules } = event;
      const before = ownMember(state.programs, document.id);
      const knownRules = rulesAfter(
        before?.knownRules ?? Map<string, string>(),
        document,
        eventRules,
      );
      const programs = {
        ...state.programs,
        [document.id]: { version, document, eventRules, knownRules },
      };
      return {
        ...state,
        programs,
        defaultProgramId: event.isDefault ? event.document.id : state.defaultProgramId,
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
  | {
      readonly type: 'CreateTenant';
      readonly alias: string;
      readonly programType: ProgramType;
      readonly openEndpoints: boolean;
      readonly keys: readonly ApiKey[];
      readonly signingSecrets: readonly SigningSecret[];
      readonly program: ProgramDocument;
      readonly now: number;
    }
  | { readonly type: 'SwitchOpenEndpoints'; readonly openEndpoints: boolean; readonly now: number }
  /** Missing members stay as they are; limits are merged. */
  | { readonly type: 'ChangeOpenRules'; readonly changes: Partial<OpenRules>; readonly now: number }
  | { readonly type: 'ChangeProgramType'; readonly programType: ProgramType; readonly now: number }
  /** New keys replace the old ones, which stay valid for `graceMs`. */
  | {
      readonly type: 'RotateKeys';
      readonly keys: readonly ApiKey[];
      readonly graceMs: number;
      readonly now: number;
    }
  /** The same for signing secrets. */
  | {
      readonly type: 'RotateSigningSecrets';
      readonly secrets: readonly SigningSecret[];
      readonly graceMs: number;
      readonly now: number;
    }
  | ({ readonly type: 'SuspendTenant'; readonly now: number } & Suspension)
  | { readonly type: 'ResumeTenant'; readonly now: number }
  | {
      readonly type: 'ChangeTokensNotBefore';
      readonly tokensNotBefore: number | null;
      readonly now: number;
    }
  | { readonly type: 'ApplyProgram'; readonly program: ProgramDocument; readonly now: number }
  | ChangeMailSettings
  | ChangeUnitSettings
  | WebhookCommand
  | PaymentConnectionCommand;

export function decide(state: TenantState, command: TenantCommand): Decision<TenantEvent> {
  if (command.type === 'CreateTenant')
    return state.status === 'absent' ? { events: created(command) } : refused('TENANT_EXISTS');
  if (state.status === 'absent') return refused('TENANT_NOT_FOUND');
  const { now: at } = command;
  switch (command.type) {
    case 'SwitchOpenEndpoints':
      if (state.openEndpoints === command.openEndpoints) return { events: [] };
      return {
        events: [{ type: 'OpenEndpointsSwitched', at, openEndpoints: command.openEndpoints }],
      };
    case 'ChangeOpenRules': {
      const rules = changedRules(state.openRules, command.changes);
      return {
        events:
          JSON.stringify(rules) === JSON.stringify(state.openRules)
            ? []
            : [{ type: 'OpenRulesChanged', at, rules }],
      };
    }
    case 'ChangeMailSettings':
      return { events: [...changeMailSettings(state.mails, command)] };
    case 'ChangeUnitSettings':
      return { events: changeUnitSettings(state.units, command) };
    case 'ChangeProgramType':
      if (state.programType === command.programType) return { events: [] };
      return { events: [{ type: 'ProgramTypeChanged', at, programType: command.programType }] };
    case 'RotateKeys':
      return { events: rotatedKeys(state, command) };
    case 'RotateSigningSecrets':
      return { events: rotatedSecrets(state, command) };
    case 'SuspendTenant': {
      const { reason, by } = command;
      if (state.suspended !== null && state.suspended.reason === reason.value)
        return { events: [] };
      return { events: [{ type: 'TenantSuspended', at, reason, by }] };
    }
    case 'ResumeTenant':
      return { events: state.suspended === null ? [] : [{ type: 'TenantResumed', at }] };
    case 'ChangeTokensNotBefore': {
      const { tokensNotBefore } = command;
      if (state.tokensNotBefore === tokensNotBefore) return { events: [] };
      return { events: [{ type: 'TokensNotBeforeChanged', at, tokensNotBefore }] };
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
  return [
    ...keys.map((key): TenantEvent => ({ type: 'ApiKeyIssued', at, ...key })),
    ...retire(state.keys, keys, at + graceMs).map(({ keyId }): TenantEvent => ({
      type: 'ApiKeyRetired',
      at,
      keyId,
      validUntil: at + graceMs,
    })),
  ];
}

function rotatedSecrets(
  state: OpenTenant,
  { secrets, graceMs, now: at }: Extract<TenantCommand, { type: 'RotateSigningSecrets' }>,
): TenantEvent[] {
  const validUntil = at + graceMs;
  return [
    ...secrets.map((secret): TenantEvent => ({ type: 'SigningSecretIssued', at, ...secret })),
    ...retire(state.signingSecrets, secrets, validUntil).map(({ secretId }): TenantEvent => ({
      type: 'SigningSecretRetired',
      at,
      secretId,
      validUntil,
    })),
  ];
}

/**
 * An unchanged document records nothing, or only another default program, so that terms keep their
 * version.
 */
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
