// pnpm metadata: writes the address of the repository, which the root package.json names once, wherever else it is needed.
import { spreadRepository } from './manifests.ts';

await spreadRepository();
