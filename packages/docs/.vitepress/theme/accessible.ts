/** The home page and the page for a wrong address have no `main` of their own, and the search's button another name than it shows. */
export function markMain(): void {
  searchButton()?.removeAttribute('aria-label');
  const content = document.getElementById('VPContent');
  if (content?.querySelector('main')) content.removeAttribute('role');
  else content?.setAttribute('role', 'main');
}

/**
 * Results of the search are links. The theme calls each an option of a list box, which may hold no link, so that screen readers
 * don't come to it; and when the box is closed, it lets the focus fall to the page's beginning.
 */
export function watchSearch(): void {
  let isOpen = false;
  new MutationObserver(() => {
    const box = document.querySelector('.VPLocalSearchBox');
    for (const element of box?.querySelectorAll('[role="listbox"], [role="option"]') ?? []) {
      element.removeAttribute('role');
      element.removeAttribute('aria-selected');
    }
    const wasOpen = isOpen;
    isOpen = box !== null;
    if (wasOpen && !isOpen && document.activeElement === document.body) searchButton()?.focus();
  }).observe(document.body, { childList: true, subtree: true });
}

function searchButton(): HTMLElement | null {
  return document.querySelector('.VPNavBarSearch button');
}
