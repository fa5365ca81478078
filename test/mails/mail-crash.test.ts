import {
  makeDataDir,
  removeDataDir,
  startServiceProcess,
  type ServiceProcess,
} from '../harness/service-process.js';
import { makeTenant, withCore } from '../harness/webhook-tenants.js';
import type { Core } from '../../src/stores/core.js';
import type { Scope } from '../../src/domain/scope.js';
import { resendMail } from '../../src/mails/deliveries/shown-mails.js';
import { showMails, type ShownMail } from '../../src/operations/mails/mail.operations.js';
import { ApiClient } from '../support/api-client.js';
import { eventually } from '../support/embedded.js';
import { MailServer } from './support/mail-server.js';

const SCOPE: Scope = { tenant: 'shop', mode: 'live' };
const WITHIN_MS = 120_000;

let dataDir: string;
let server: MailServer;
let service: ServiceProcess | undefined;
beforeAll(async () => {
  dataDir = await makeDataDir();
  server = await MailServer.start();
});
afterAll(async () => {
  await service?.kill();
  await server.stop();
  await removeDataDir(dataDir);
});
jest.setTimeout(300_000);

const start = async (): Promise<ServiceProcess> => {
  const env = { DATA_DIR: dataDir, SMTP_URL: `smtp://127.0.0.1:${server.port}` };
  service = await startServiceProcess({ env });
  await service.ready(WITHIN_MS);
  return service;
};

const mails = (core: Core): Promise<readonly ShownMail[]> => showMails(core, SCOPE, { limit: 100 });

const stateIs = (core: Core, state: ShownMail['state'], count: number): Promise<void> =>
  eventually(
    async () => (await mails(core)).filter((mail) => mail.state === state).length === count,
    WITHIN_MS,
  );

test('a mail whose process is killed within the conversation, or whose server falls silent, is unknown and not sent again; a resend keeps its Message-ID', async () => {
  const first = await start();
  await withCore(dataDir, async (core) => {
    const { key } = await makeTenant(core, SCOPE.tenant);
    const types = ['REWARD_EARNED'];
    await core.tenantCommands.execute(SCOPE.tenant, {
      type: 'ChangeMailSettings',
      types,
      now: Date.now(),
    });
    const earn = async (url: string, id: string): Promise<void> => {
      const api = new ApiClient(url, SCOPE.tenant, `:${key}`);
      await api.post('/accountsync', { id, subscription: { status: 'TRIAL' } });
      await api.post('/user', { id, accountId: id, email: `${id}@mail.example` });
      const reward = { type: 'CREDIT', unit: 'CENTS', assignedCredit: 100 };
      expect((await api.post(`/rewards/account/${id}/user/${id}`, reward)).status).toBe(201);
    };
    const [killed, silent] = ['killed@mail.example', 'silent@mail.example'] as const;
    server.manners.set(killed, 'hang');
    server.manners.set(silent, 'hang');
    await earn(first.url, 'killed');
    await eventually(() => server.offers(killed) === 1, WITHIN_MS);
    await first.kill();

    const second = await start();
    await stateIs(core, 'UNKNOWN', 1);
    const [lost] = await mails(core);
    expect(lost).toMatchObject({ attempts: 1, nextAttemptAt: null });
    expect(lost?.reason).toBe('the process that sent it ended');
    await earn(second.url, 'silent');
    await stateIs(core, 'UNKNOWN', 2);
    const [quiet] = await mails(core);
    expect(quiet?.reason).toBe('the server did not answer in time after it was sent the mail');
    // Both were passed over by every look at what is due.
    expect([server.offers(killed), server.offers(silent)]).toEqual([1, 1]);

    server.manners.clear();
    for (const { id } of await mails(core))
      expect(await resendMail(core.pool, SCOPE, id)).toBe(true);
    await stateIs(core, 'DELIVERED', 2);
    for (const address of [killed, silent]) {
      expect([server.offers(address), server.takenFor(address).length]).toEqual([2, 1]);
      const [id] = server.offeredIds(address);
      expect(id).toMatch(/^<[0-9a-f]{40}@/);
      expect(server.offeredIds(address)).toEqual([id, id]);
    }
  });
});
