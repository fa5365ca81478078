import type { LoadHookContext, LoadFnOutput } from 'node:module';
import { placesOf, type Plant } from './plants.js';

let plant: Plant | undefined;

/** Called by Node with what `plant-loader.ts` hands over. */
export function initialize(data: Plant): void {
  plant = data;
}

/** Puts the planted fault into the one module. @throws when it no longer fits there. */
export async function load(
  url: string,
  context: LoadHookContext,
  next: (url: string, context: LoadHookContext) => Promise<LoadFnOutput>,
): Promise<LoadFnOutput> {
  const loaded = await next(url, context);
  if (plant === undefined || !url.endsWith(`/dist/${plant.file}`)) return loaded;
  const source = loaded.source ?? '';
  const text = typeof source === 'string' ? source : Buffer.from(source as Uint8Array).toString();
  const parts = text.split(placesOf(plant));
  if (parts.length !== 2)
    throw new Error(`the plant ${plant.name} fits ${parts.length - 1} places of ${plant.file}`);
  return { ...loaded, source: parts.join(plant.replace) };
}
