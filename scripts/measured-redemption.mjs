// Runs one redemption on the in-memory log and takes the stack at its append.
import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const dist = (path) => import(new URL(`../dist/${path}.js`, import.meta.url).href);

const load = async () =>
  Object.assign(
    {},
    ...(await Promise.all(
      [
        'simulator/simulated-event-log',
        'simulator/simulated-keys',
        'simulator/simulated-store',
        'simulator/virtual-world',
        'src/command-handling/commands',
        'src/command-handling/open-command-handling',
        'src/command-handling/streams',
        'src/domain/tenant/program-document',
        'src/event-log/codec',
        'src/http/rewards/rewards.controller',
        'src/http/writing/command-gateway',
        'src/http/writing/own-writes',
        'src/http/writing/writes',
        'src/privacy/keyed-names',
        'src/privacy/sealed-bytes',
        'src/privacy/subject-keys',
        'src/stores/core',
      ].map(dist),
    )),
  );

/** Answers immediately. */
const LINE = {
  read: async (_kind, _away, question) => question(),
  write: async (_kind, _away, change) => change(),
  notify: (_to, message) => message(),
  isBroken: () => false,
};
const scope = { tenant: 'demo', mode: 'live' };
const actor = { kind: 'api-key', id: 'key' };
const metaOf = (id) => ({
  scope,
  commandId: id,
  correlationId: id,
  causationId: id,
  actor,
  idempotency: null,
});
const nothing = async () => undefined;

function open(parts) {
  const { SimulatedStore, SimulatedEventLog, Owner, SimulatedKeyRows, WrappedKeys } = parts;
  const store = new SimulatedStore('00000001', Date.now);
  const log = new SimulatedEventLog(store, LINE, new Owner('script'));
  const sealer = new parts.FixedSealer(Buffer.alloc(32, 1));
  const keys = new WrappedKeys(new SimulatedKeyRows(new Map(), LINE), sealer);
  const codec = new parts.EventCodec(keys);
  const names = new parts.KeyedNames(Buffer.alloc(32, 2));
  const streams = parts.openStreams(log, codec);
  const announcements = { announceErasure: nothing, announceTenant: nothing };
  const handling = { log, codec, names, keys, streams, ...announcements };
  const commands = parts.commandsOf(parts.openCommandHandling(handling));
  const ownWrites = new parts.OwnWrites(log, {}, { perTenantMax: 1 });
  const writes = new parts.Writes({}, ownWrites, names, { warn: () => undefined });
  const gateway = new parts.CommandGateway(commands, writes, ownWrites, new Set(), {});
  const controller = new parts.RewardsController(gateway, undefined, undefined, names);
  return { log, names, commands, controller };
}

async function prepare({ names, commands }, parts) {
  const { AccountCommandEnvelope, TenantCommandEnvelope, DEFAULT_PROGRAM } = parts;
  const tenant = { type: 'CreateTenant', alias: 'demo', programType: 'API_ONLY', now: 1 };
  const unused = { openEndpoints: false, keys: [], signingSecrets: [], program: DEFAULT_PROGRAM };
  await commands.execute(new TenantCommandEnvelope(metaOf('1'), { ...tenant, ...unused }));
  const account = names.accountRef(scope, 'acme');
  const send = async (id, request) => {
    const outcome = await commands.execute(
      new AccountCommandEnvelope(metaOf(id), account, request),
    );
    if (outcome.kind !== 'accepted') throw new Error(`${request.type}: ${outcome.refused}`);
    return outcome.events;
  };
  const user = { userId: 'ann', openAccount: 'acme', changes: {}, codes: [], referralCodes: {} };
  await send('2', { type: 'UpsertUser', ...user });
  const texts = { name: null, description: null, dateScheduledFor: null, dateExpires: null };
  const value = { type: 'CREDIT', assignedCredit: 5, unit: 'CENTS', currency: null };
  const reward = { type: 'CreateReward', userId: 'ann', value, cancellable: true, ...texts };
  const events = await send('3', reward);
  return events.find(({ type }) => type === 'RewardGranted').rewardId;
}

/** Our frames of a stack, the outermost first. */
const framesIn = (stack) =>
  stack
    .split('\n')
    .slice(1)
    .filter((line) => line.includes('/dist/src/'))
    .map((line) => {
      const [, name = 'a function', file] =
        /at (?:async )?(?:(\S.*?) )?\(?(?:file:\/\/)?([^()]*?):\d+:\d+\)?$/.exec(line) ?? [];
      return { name, file: relative(root, file).replace(/^dist\/(.*)\.js$/, '$1.ts') };
    })
    .reverse();

const textOf = ({ file, name }) => `${file} ${name}`;

/** From the controller to the append: of each hop the file and the function. */
export async function measureRedemption() {
  const parts = await load();
  const ledger = open(parts);
  const rewardId = await prepare(ledger, parts);
  Error.stackTraceLimit = Infinity;
  let entered = [];
  let appended = [];
  // A function without await is on the stack up to the first wait alone.
  const { execute } = ledger.commands;
  ledger.commands.execute = (command) => {
    entered = framesIn(new Error().stack);
    return execute(command);
  };
  const append = ledger.log.append.bind(ledger.log);
  ledger.log.append = (...call) => {
    appended = framesIn(new Error().stack);
    return append(...call);
  };
  const reply = { header: () => reply, status: () => reply };
  const call = { id: '4', scope, actor, headers: {}, reply };
  await ledger.controller.redeem(call, rewardId, { amount: 1, unit: 'CENTS' });
  const known = new Set(entered.map(textOf));
  const path = [...entered, ...appended.filter((frame) => !known.has(textOf(frame)))];
  return [...path, { file: 'src/event-log/event-log.ts', name: 'EventLog.append' }];
}

/** A frame is entered by a callback when its file was left before: another module calls it. */
export const inversionsIn = (path) =>
  path.filter(
    ({ file }, index) =>
      index > 0 &&
      path[index - 1].file !== file &&
      path.slice(0, index).some((before) => before.file === file),
  );
