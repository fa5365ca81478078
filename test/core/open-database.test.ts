import { createServer, type AddressInfo } from 'node:net';
import { once } from 'node:events';
import { pino } from 'pino';
import { DatabaseNotOpened, untilDatabaseOpens } from '../../src/stores/open-database.js';

const logger = pino({ level: 'silent' });

test.each([
  ['refuses the connection', '127.0.0.1:1', 'connection refused'],
  ['has no address', 'nowhere.invalid:5432', 'unknown host'],
])(
  'a server that %s has the time given, and is named without the password',
  async (_, place, reason) => {
    const url = `postgresql://ledger:unguessable@${place}/ledger`;
    await expect(untilDatabaseOpens(url, { withinMs: 400, waits: true, logger })).rejects.toEqual(
      new DatabaseNotOpened(
        `Postgres at ${place} cannot be reached (${reason}): start it, or correct DATABASE_URL`,
      ),
    );
  },
);

test('a server that accepts the connection and is silent is abandoned after the time limit', async () => {
  const silent = createServer(() => undefined).listen(0, '127.0.0.1');
  await once(silent, 'listening');
  const { port } = silent.address() as AddressInfo;
  try {
    const url = `postgresql://ledger:unguessable@127.0.0.1:${port}/ledger`;
    await expect(untilDatabaseOpens(url, { withinMs: 400, waits: true, logger })).rejects.toThrow(
      `Postgres at 127.0.0.1:${port} cannot be reached (no answer): start it, or correct DATABASE_URL`,
    );
  } finally {
    silent.close();
  }
});

test('a command does not wait for a server that is absent', async () => {
  const info = jest.spyOn(logger, 'info');
  const opening = { withinMs: 60_000, waits: false, logger };
  const url = 'postgresql://ledger:unguessable@127.0.0.1:1/ledger';
  await expect(untilDatabaseOpens(url, opening)).rejects.toThrow('connection refused');
  expect(info).not.toHaveBeenCalled();
});
