export const plantNames = () => ['none-yet'];
