import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { playwright } from '@vitest/browser-playwright';
import { defineConfig } from 'vitest/config';

/** What `npx msw init public` would copy into the project. */
const serviceWorker = readFileSync(fileURLToPath(import.meta.resolve('msw/mockServiceWorker.js')));

export default defineConfig({
  plugins: [
    {
      name: 'msw',
      configureServer({ middlewares }) {
        middlewares.use('/mockServiceWorker.js', (_, response) => {
          response.setHeader('Content-Type', 'text/javascript');
          response.end(serviceWorker);
        });
      },
    },
  ],
  // The service finds its WebAssembly beside itself.
  optimizeDeps: { exclude: ['@shortlink/server/browser'] },
  test: {
    include: ['shorten-form.test.ts'],
    browser: {
      enabled: true,
      headless: true,
      screenshotFailures: false,
      instances: [{ browser: 'chromium' }],
      // Without a path, the browser that `npx playwright install chromium` installs.
      provider: playwright({
        launchOptions: {
          ...(process.env['CHROMIUM_PATH'] && { executablePath: process.env['CHROMIUM_PATH'] }),
          chromiumSandbox: false,
        },
      }),
    },
  },
});
