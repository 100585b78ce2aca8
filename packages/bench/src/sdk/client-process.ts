/** One client in a process of its own: its compiled code is never mixed with another's. Started by `sdk/requests.ts`. */
import { answerParent } from '../frame/processes.ts';
import { CLIENTS, isClientName } from './clients.ts';

/** How many creates to send, and how many of them at once. */
export interface CreateRun {
  requests: number;
  concurrency: number;
}

/** Elapsed time, and processor time of this process. */
export interface CreateTimes {
  ms: number;
  cpuMs: number;
}

const [name = '', url = ''] = process.argv.slice(2);
if (!isClientName(name)) throw new Error(`no client "${name}"`);
const createOne = await CLIENTS[name](url);

answerParent(async ({ requests, concurrency }: CreateRun): Promise<CreateTimes> => {
  let left = requests;
  const sendSome = async () => {
    while (left > 0) {
      left -= 1;
      await createOne();
    }
  };
  const cpuBefore = process.cpuUsage();
  const startedAt = performance.now();
  await Promise.all(Array.from({ length: concurrency }, sendSome));
  const ms = performance.now() - startedAt;
  const { user, system } = process.cpuUsage(cpuBefore);
  return { ms, cpuMs: (user + system) / 1000 };
});
