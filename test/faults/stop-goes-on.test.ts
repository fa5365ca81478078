import { createStores, RunningService } from '../support/running-service.js';

it('a stop continues after a part of it fails, and reports that it was not clean', async () => {
  const stores = await createStores();
  const { service } = await RunningService.start(stores);
  const { stop } = service.policies;
  service.policies.stop = async () => {
    await stop.call(service.policies);
    throw new Error('no');
  };
  await expect(service.stop()).rejects.toThrow('no');
  expect(service.core.pool.ended).toBe(true);
  await stores.remove();
});
