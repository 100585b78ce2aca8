import type { Page, PageScreenshotOptions } from 'playwright-core';

/** How often Chromium is asked, and the pause between two times, in milliseconds. */
const TRIES = 20;
const PAUSE_MS = 250;

/** Saves a picture of a page, for people to look at. While it is busy, Chromium may refuse one that it takes a moment later. */
export async function savePicture(page: Page, options: PageScreenshotOptions): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      await page.screenshot(options);
      return;
    } catch (error) {
      if (tries === TRIES || !String(error).includes('Unable to capture screenshot')) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  }
}
