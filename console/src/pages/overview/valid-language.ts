/** uPlot formats numbers by the language of the browser, and fails to load where that is no valid tag, such as `en-US@posix`. */
try {
  new Intl.NumberFormat(navigator.language)
} catch {
  Object.defineProperty(navigator, 'language', { value: 'en', configurable: true })
}

export {}
