// Records what users of the built packages call and type, in packages/*/api/: pnpm api:update
// With --released, also records that this is the surface of the version that is released.
import { reportSurface, undeclaredPackages, writeReleased, writeReports } from './api-report.ts';

await writeReports(await reportSurface());
if (process.argv.includes('--released')) await writeReleased();
for (const name of await undeclaredPackages()) {
  console.log(
    `The surface of ${name} has changed since the last release. Declare it: pnpm changeset`,
  );
}
