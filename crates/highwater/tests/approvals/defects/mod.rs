//! Defects of approvals that were found from outside in an early version: D2 to D16, and rows of the red team. Each is told
//! as it was met, through the shipped program and with nothing configured that was not there then, so that each test fails
//! there.
//!
//! Told in the same way elsewhere: D1 in `reset`, here and among native clients; D3, E01, E02, E06 and E07 in `forms`; D8 in
//! the browser; D12 of the terminal in `attention`; E23 in `held`; D16 of commands beside the commands.

mod asked;
mod beside;
mod lasting;
mod page;
mod signed;
