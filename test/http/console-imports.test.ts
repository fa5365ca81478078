import { eventually } from '../support/embedded.js';
import {
  figures,
  get,
  ofTenant,
  type Page,
  post,
  running,
  setUpConsole,
  tenant,
} from '../support/console-staff.js';
import { recordedOperations } from '../support/recorded-operations.js';
import { personal } from '../support/running-service.js';

setUpConsole();

const account = personal('a');
const FILE = [
  'id,accountId,Vorname,shoe,accountStatus',
  `${personal('u')},${account},Jana,38,TRIAL`,
  ',,Max,44,TRIAL',
].join('\n');

const upload = (who: 'fay' | 'sam', kind: string): Promise<Page> =>
  post(who, ofTenant('/imports/file'), { kind }, { file: FILE });

async function over(path: string): Promise<Page> {
  let page = await get('sam', path);
  await eventually(async () => {
    page = await get('sam', path);
    return figures(page, 'progress')[0] === 'done';
  });
  return page;
}

test('a file is checked with the chosen columns, then imported, and its rejected rows are offered as CSV', async () => {
  const stored = (await upload('sam', 'users')).location ?? '';
  const columns = await get('sam', stored);
  expect(columns.text).toContain('<div>Jana</div><div>Max</div>');
  expect(columns.text).toContain('Not imported');
  expect(columns.text).not.toContain('value="import"');
  const [, id = ''] = /imports\/([0-9a-f-]{36})/.exec(stored) ?? [];
  const chosen = { import: id, kind: 'users', 'field-2': 'firstName' };
  const checked = await post('sam', ofTenant('/imports'), { action: 'check', ...chosen });
  const check = await over(checked.location ?? '');
  expect([figures(check, 'imported'), figures(check, 'rejected')]).toEqual([['1'], ['1']]);
  const [, checkId = ''] = /check=([0-9a-f-]{36})/.exec(checked.location ?? '') ?? [];
  const asked = { action: 'import', import: id, check: checkId };
  const begun = await post('sam', ofTenant('/imports'), asked);
  const run = await over(begun.location ?? '');
  expect([figures(run, 'imported'), figures(run, 'rejected')]).toEqual([['1'], ['1']]);
  const rejected = await get('sam', `${ofTenant('/imports')}/${id}/rejected`);
  expect(rejected.text).toMatch(/line,reason\n,,Max,44,TRIAL,3,"?BAD_REQUEST/);
  const { core } = running.service.service;
  const views = await recordedOperations(core, { tenant: tenant.alias, mode: 'live' });
  for (const operation of ['console import', 'console import file'])
    expect(views).toContainEqual(
      expect.objectContaining({ operation, parameters: { import: id } }),
    );
  // Sent twice, it shows the same run.
  expect((await post('sam', ofTenant('/imports'), asked)).location).toBe(begun.location);
  expect((await get('sam', ofTenant('/imports'))).text).toContain('Check of a file');
});

test('each kind has its role', async () => {
  expect((await upload('fay', 'users')).status).toBe(403);
  expect((await upload('sam', 'rewards')).status).toBe(403);
  expect((await upload('fay', 'rewards')).status).toBe(303);
});
