import type { DefaultTheme } from 'vitepress';

/** Every page, in reading order. `llms.txt` has the same order. */
export const sidebar: DefaultTheme.SidebarItem[] = [
  {
    text: 'Five minutes',
    items: [
      { text: 'With the SDK', link: '/start/sdk' },
      { text: 'With the command line', link: '/start/cli' },
      { text: 'With your own server', link: '/start/server' },
    ],
  },
  {
    text: 'Importing files',
    items: [
      { text: 'The first import', link: '/importing/first-import' },
      { text: 'Growing files', link: '/importing/growing-files' },
      { text: 'In CI', link: '/importing/ci' },
      { text: 'Rejects and failed rows', link: '/importing/rejects' },
      { text: 'Plans and quotas', link: '/importing/plans' },
      { text: 'Verifying links', link: '/importing/verify' },
    ],
  },
  {
    text: 'The SDK in depth',
    items: [
      { text: 'Retries and exactly once', link: '/sdk/exactly-once' },
      { text: 'Options and pacing', link: '/sdk/options' },
      { text: 'OpenTelemetry', link: '/sdk/opentelemetry' },
      { text: 'Errors', link: '/sdk/errors' },
      { text: 'Many links and jobs', link: '/sdk/bulk' },
      { text: 'Testing your code', link: '/sdk/testing' },
      { text: 'Runtimes and size', link: '/sdk/runtimes' },
    ],
  },
  {
    text: 'Running in production',
    items: [
      { text: 'Checklist', link: '/production/' },
      { text: 'systemd', link: '/production/systemd' },
      { text: 'Docker', link: '/production/docker' },
      { text: 'Proxies and custom domains', link: '/production/proxies' },
      { text: 'PostgreSQL', link: '/production/postgresql' },
      { text: 'Sizing', link: '/production/sizing' },
      { text: 'Monitoring', link: '/production/monitoring' },
      { text: 'Upgrade', link: '/production/upgrade' },
      { text: 'Backup and restore', link: '/production/backup' },
      { text: 'Accounts, keys and links', link: '/production/operating' },
      { text: 'Moving house', link: '/production/moving' },
      { text: 'Security', link: '/production/security' },
    ],
  },
  { text: 'The protocol', link: '/protocol' },
  { text: 'Checking a server', link: '/conformance' },
  {
    text: 'Reference',
    items: [
      { text: 'shortlink', link: '/reference/cli' },
      { text: 'shortlink-server', link: '/reference/server' },
      { text: 'HTTP API', link: '/reference/http-api' },
      { text: 'Settings', link: '/reference/settings' },
      { text: 'Plans and limits', link: '/reference/plans' },
      { text: 'Error codes', link: '/reference/error-codes' },
      { text: 'Exit codes', link: '/reference/exit-codes' },
      { text: 'Size', link: '/reference/size' },
      { text: '@shortlink/sdk', link: '/reference/library/@shortlink/sdk' },
      { text: '@shortlink/sdk/wire', link: '/reference/library/@shortlink/sdk/wire' },
      { text: '@shortlink/server', link: '/reference/library/@shortlink/server' },
      { text: '@shortlink/server/testing', link: '/reference/library/@shortlink/server/testing' },
      {
        text: '@shortlink/server/testing/msw',
        link: '/reference/library/@shortlink/server/testing/msw',
      },
    ],
  },
];
