import type { ExportCommandEnvelope } from '../../src/command-handling/commands.js';
import {
  DownloadRecords,
  SUMMED_MS,
  type Download,
} from '../../src/http/exports/download-records.js';
import { enterWorldWith } from '../support/clock-of-process.js';

let now = 1_000;
let leave: () => void;
beforeEach(() => {
  now = 1_000;
  let ids = 0;
  leave = enterWorldWith({
    now: () => now,
    elapsed: () => now,
    after: () => () => undefined,
    uuid: () => `id-${++ids}`,
  });
});
afterEach(() => leave());

const download = (exportId = 'e', id = 'live-1'): Download => ({
  scope: { tenant: 'shop', mode: 'live' },
  exportId,
  actor: { kind: 'api-key', id },
  requestId: `request of ${id}`,
});

function recording(rememberedMax?: number) {
  const sent: unknown[] = [];
  const commandIds: string[] = [];
  const broken = { is: false };
  const execute = ({ meta, exportId, command }: ExportCommandEnvelope) => {
    commandIds.push(meta.commandId);
    if (broken.is) return Promise.reject(new Error('the log is away'));
    const { downloads = 0, since = 0 } = command.type === 'RecordDownloads' ? command : {};
    sent.push([exportId, meta.actor.id, downloads, since]);
    return Promise.resolve();
  };
  const lines: unknown[] = [];
  const warn = (line: unknown) => void lines.push(line);
  const records = new DownloadRecords({ execute } as never, { warn }, rememberedMax);
  return { records, sent, commandIds, broken, lines };
}

test('the first download by an actor is recorded at once, the next ones of an hour together', async () => {
  const { records, sent } = recording();
  for (let n = 0; n < 500; n++) records.note(download());
  records.note(download('e', 'live-2'));
  records.note(download('f'));
  await records.write();
  expect(sent).toEqual([
    ['e', 'live-1', 1, 1_000],
    ['e', 'live-2', 1, 1_000],
    ['f', 'live-1', 1, 1_000],
  ]);
  now += SUMMED_MS;
  await records.write();
  expect(sent.slice(3)).toEqual([['e', 'live-1', 499, 1_000]]);
});

test('after an hour without downloads the next one is recorded at once', async () => {
  const { records, sent } = recording();
  records.note(download());
  now += SUMMED_MS;
  await records.write();
  records.note(download());
  await records.write(0);
  expect(sent).toEqual([
    ['e', 'live-1', 1, 1_000],
    ['e', 'live-1', 1, 1_000 + SUMMED_MS],
  ]);
});

test('what could not be recorded is sent again as the same command, for a day', async () => {
  const { records, sent, commandIds, broken, lines } = recording();
  broken.is = true;
  records.note(download());
  await records.write();
  broken.is = false;
  await records.write();
  expect(sent).toEqual([['e', 'live-1', 1, 1_000]]);
  expect(commandIds).toEqual(['id-1', 'id-1']);
  expect(lines).toEqual([{ exportId: 'e', downloads: 1, isGivenUp: false, error: 'Error' }]);
  broken.is = true;
  records.note(download('f'));
  now += 25 * SUMMED_MS;
  await records.write();
  await records.write();
  expect(lines.at(-1)).toMatchObject({ isGivenUp: true });
  await records.write();
  expect(commandIds.filter((id) => id === 'id-2').length).toBe(1);
});

test('what is counted is recorded at the end, and when there is no room to remember it', async () => {
  const { records, sent } = recording(1);
  records.note(download());
  records.note(download());
  records.note(download('f'));
  records.note(download('f'));
  await records.stop();
  expect(sent).toEqual([
    ['e', 'live-1', 1, 1_000],
    ['e', 'live-1', 1, 1_000],
    ['f', 'live-1', 1, 1_000],
    ['f', 'live-1', 1, 1_000],
  ]);
});
