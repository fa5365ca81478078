import type { Scope } from '../domain/scope.js';
import type { EventCodec } from '../event-log/codec.js';
import { timeNow } from '../foundation/world.js';
import type { KeyedNames } from '../privacy/keyed-names.js';
import type { SubjectKeys } from '../privacy/subject-keys.js';
import { AccountCommands } from './account-commands.js';
import type { CommandBusParts } from './command-bus.js';
import type { DecidedLog } from './handle-command.js';
import { CodeOwners } from './needs/code-owners.js';
import { EarlierEvents } from './needs/earlier-events.js';
import { ImportedRows } from './needs/imported-rows.js';
import { NewSubjects } from './needs/new-subjects.js';
import { ProgramVersions } from './needs/program-versions.js';
import { Reservations } from './needs/reservations.js';
import { TankCodes } from './needs/tank-codes.js';
import {
  ErasureProcess,
  type AnnounceErasure,
  type ForgetInFiles,
} from './processes/erasure-process.js';
import { ModerationProcess } from './processes/moderation-process.js';
import type { Streams } from './streams.js';
import { TenantDirectory } from '../tenants/tenant-directory.js';

export interface CommandHandlingParts {
  readonly log: DecidedLog;
  readonly codec: EventCodec;
  readonly names: KeyedNames;
  readonly keys: SubjectKeys;
  readonly streams: Streams;
  /** Notifies every process, this one included, to evict these people's values. */
  readonly announceErasure: AnnounceErasure;
  /** Default: there are no files. */
  readonly forgetInFiles?: ForgetInFiles;
  /** Notifies the other processes that a tenant has changed. */
  readonly announceTenant: (alias: string) => Promise<void>;
  readonly clock?: () => number;
}

export interface CommandHandlingCore extends CommandBusParts {
  readonly owners: CodeOwners;
  readonly tenants: TenantDirectory;
}

export function openCommandHandling(parts: CommandHandlingParts): CommandHandlingCore {
  const { log, codec, names, keys, streams, clock = timeNow } = parts;
  const owners = new CodeOwners(streams, names);
  const tenants = new TenantDirectory(streams.tenants, names);
  log.onWentBack(() => tenants.forgetAll());
  const programs = new ProgramVersions(log, codec, names);
  const tankCodes = new TankCodes(streams, names, tenants, programs, clock);
  const reservations = new Reservations(streams, names);
  const subjects = new NewSubjects(keys);
  const sources = {
    log,
    streams,
    names,
    owners,
    reservations,
    subjects,
    tankCodes,
    earlierEvents: new EarlierEvents(log, codec, names),
    importedRows: new ImportedRows(streams, names, clock),
    clock,
    now: (scope: Scope) => tenants.now(scope, clock()),
  };
  const moderations = new ModerationProcess(streams, names, sources);
  const erasures = new ErasureProcess(
    streams,
    names,
    keys,
    parts.announceErasure,
    parts.forgetInFiles ?? (() => Promise.resolve()),
  );
  const accounts = new AccountCommands({ streams, sources, tenants, moderations, erasures });
  const announceTenant = (alias: string): Promise<void> => {
    tenants.forget(alias);
    return parts.announceTenant(alias);
  };
  return {
    streams,
    names,
    owners,
    tenants,
    accounts,
    moderations,
    erasures,
    announceTenant,
  };
}
