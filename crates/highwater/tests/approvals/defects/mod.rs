//! Defects of approvals that were found from outside in an early version, D2 to D16, each told as it was met, through the
//! shipped program and with nothing configured that was not there then. Those that are missing here are told elsewhere:
//! D1 in `reset`, D3 in `forms`.

mod asked;
mod beside;
mod lasting;
mod page;
mod signed;
