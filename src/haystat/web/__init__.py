"""The labelling page: people answer in the browser, the estimate grows before their eyes."""
